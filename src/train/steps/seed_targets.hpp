// The targets of seeds, gathered from the part that owns them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/partition/part.hpp"

namespace rudder::train {

/// The objective of a data set's targets; an input Error naming `where` if it has none.
[[nodiscard]] nn::Objective objective_of(const graph::DatasetInfo& info, const std::string& where);

/// The pairs of a batch of links, in memory of its own, which the next call overwrites.
class SeedPairReader {
public:
    /// `group` pairs for each link: it, and those drawn beside it.
    nn::SeedTargets gather(const sample::Batch& batch, std::uint32_t group);

private:
    std::vector<LocalId> sources_;
    std::vector<LocalId> targets_;
};

/// Gathers targets into memory of its own, which the next call overwrites.
class SeedTargetReader {
public:
    /// `seeds` are own vertices of the part, by global id.
    nn::SeedTargets gather(const partition::Part& part, std::span<const VertexId> seeds);

private:
    std::vector<std::int32_t> classes_;
    std::vector<std::uint8_t> multilabel_;
    std::vector<float> regression_;
};

}  // namespace rudder::train
