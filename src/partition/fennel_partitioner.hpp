// Fennel: a stream of vertices, placed by neighbours less a price that grows with the part.
#pragma once

#include "partitioner.hpp"

namespace rudder::partition {

/// The method "fennel".
class FennelPartitioner final : public Partitioner {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "fennel"; }
    [[nodiscard]] Assignment assign(const PartitionInput& input, const PartitionOptions& options,
                                    Progress& progress) const override;
};

}  // namespace rudder::partition
