// Scores of vertices by role, added up in an order that shows neither chunks nor threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "rudder/nn/network.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/train/records.hpp"

namespace rudder::train {

/// The scores of one part.
struct PartScores {
    std::array<Score, 3> roles{};             ///< training, validation, test
    std::array<std::uint64_t, 3> vertices{};  ///< labelled

    PartScores& operator+=(const PartScores& other) noexcept;
};

/// Adds what own vertices of a part from `first` on (the start of a group) scored: vertices x
/// outputs. A loss is summed within a group of vertices, then group after group.
void add_scores(const partition::Part& part, nn::Objective objective, std::size_t outputs,
                LocalId first, std::span<const float> scores, PartScores& sums);

}  // namespace rudder::train
