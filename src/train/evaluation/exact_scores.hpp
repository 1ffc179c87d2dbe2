// Scores of vertices by role, added up in an order that shows neither chunks nor threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/train/records.hpp"

namespace rudder::train {

/// How the targets of a data set are read for a network that was trained on another.
struct TargetReading {
    /// The network's output for each of the data set's classes, or labels; graph::no_label: it
    /// does not know it. Empty: they are the same.
    std::vector<std::int32_t> outputs;
    bool all_test = false;  ///< there is no split: what is labelled counts as for test
};

/// The scores of one part.
struct PartScores {
    std::array<Score, 3> roles{};             ///< training, validation, test
    std::array<std::uint64_t, 3> vertices{};  ///< labelled
    std::uint64_t unknown = 0;  ///< vertices with a role and a label that the network does not know

    PartScores& operator+=(const PartScores& other) noexcept;
};

/// Whose answers are scored, and how.
struct ScoredNetwork {
    nn::Objective objective = nn::Objective::classes;
    std::size_t outputs = 0;
    const TargetReading& reading;
};

/// Adds what own vertices of a part from `first` on (the start of a group) scored: vertices x
/// outputs. A loss is summed within a group of vertices, then group after group. A vertex of an
/// unknown class is not scored; of several labels those that are known are.
void add_scores(const partition::Part& part, const ScoredNetwork& network, LocalId first,
                std::span<const float> scores, PartScores& sums);

}  // namespace rudder::train
