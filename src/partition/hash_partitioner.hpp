// Vertices placed by a hash of their id alone.
#pragma once

#include "partitioner.hpp"

namespace rudder::partition {

/// The method "hash".
class HashPartitioner final : public Partitioner {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "hash"; }
    [[nodiscard]] Assignment assign(const PartitionInput& input, const PartitionOptions& options,
                                    Progress& progress) const override;
};

}  // namespace rudder::partition
