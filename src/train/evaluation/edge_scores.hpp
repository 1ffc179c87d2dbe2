// Scores of edges that have targets, by what their two vertices' rows give.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/partition/part.hpp"
#include "sample/links.hpp"

#include "exact_scores.hpp"
#include "vertex_rows.hpp"

namespace rudder::train {

/// What the answers for edges are held against.
struct EdgeScoring {
    nn::Objective objective = nn::Objective::classes;
    std::size_t outputs = 0;
    TargetReading reading{};
};

/// Adds up right answers and losses of edges, some thousands at a time and in their order. An edge
/// of a class that the network does not know is not scored; of several labels those that are known
/// are.
class EdgeScorer {
public:
    /// What is given must outlive it.
    EdgeScorer(nn::Network& network, const VertexRows& rows, const EdgeScoring& scoring)
        : network_(network), rows_(rows), scoring_(scoring) {}

    /// The edges of an own part.
    [[nodiscard]] PartScores score(const partition::Part& part, const sample::PartLinks& edges);

private:
    void score_some(const partition::Part& part, const sample::LinkList& list, std::size_t first,
                    std::size_t count, PartScores& sums, std::size_t role);

    nn::Network& network_;
    const VertexRows& rows_;
    const EdgeScoring& scoring_;
    std::vector<VertexId> sources_;
    std::vector<VertexId> targets_;
    std::vector<float> scores_;
    std::vector<std::int32_t> classes_;
    std::vector<std::uint8_t> multilabel_;
    std::vector<float> regression_;
};

}  // namespace rudder::train
