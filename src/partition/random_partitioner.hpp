// Vertices dealt at random, exactly balanced.
#pragma once

#include "partitioner.hpp"

namespace rudder::partition {

/// The method "random".
class RandomPartitioner final : public Partitioner {
public:
    [[nodiscard]] std::string_view name() const noexcept override { return "random"; }
    [[nodiscard]] Assignment assign(const PartitionInput& input, const PartitionOptions& options,
                                    Progress& progress) const override;
};

}  // namespace rudder::partition
