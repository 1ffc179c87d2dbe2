// Linear deterministic greedy: a stream of vertices, each placed where most of its neighbours are.
#pragma once

#include "partitioner.hpp"

namespace rudder::partition {

/// The method "ldg".
class LdgPartitioner final : public Partitioner {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "ldg"; }
    [[nodiscard]] Assignment assign(const PartitionInput& input, const PartitionOptions& options,
                                    Progress& progress) const override;
};

}  // namespace rudder::partition
