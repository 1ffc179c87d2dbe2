#include "exact_scores.hpp"

#include <algorithm>
#include <vector>

#include "rudder/core/parallel.hpp"
#include "rudder/nn/loss.hpp"
#include "train/steps/seed_targets.hpp"

#include "exact_chunks.hpp"

namespace rudder::train {

namespace {

constexpr std::array<graph::Role, 3> scored_roles{graph::Role::train, graph::Role::valid,
                                                  graph::Role::test};

/// Picks the vertices of a group that have a role, and scores them; keeps its memory.
class GroupScorer {
public:
    GroupScorer(const partition::Part& part, nn::Objective objective, std::size_t outputs)
        : part_(part), objective_(objective), outputs_(outputs) {}

    /// Vertices from `first` on, as many as there are rows.
    PartScores score(LocalId first, std::span<const float> scores) {
        PartScores sums;
        for (std::size_t r = 0; r < scored_roles.size(); ++r) {
            pick(scored_roles[r], first, scores);
            if (seeds_.empty()) continue;
            const nn::LossSums loss =
                nn::loss_and_gradient(objective_, targets_.gather(part_, seeds_), 1,
                                      {rows_.data(), seeds_.size(), outputs_, outputs_});
            sums.roles[r] = {loss.correct, loss.answers, loss.loss};
            sums.vertices[r] = seeds_.size();
        }
        return sums;
    }

private:
    void pick(graph::Role role, LocalId first, std::span<const float> scores) {
        seeds_.clear();
        rows_.clear();
        const auto roles = part_.roles();
        const graph::TargetView targets = part_.targets();
        for (std::size_t i = 0; i < scores.size() / outputs_; ++i) {
            if (roles[first + i] != role) continue;
            if (!graph::is_labelled(part_.info().targets, targets, first + i)) continue;
            seeds_.push_back(part_.range().begin + first + i);
            const auto row = scores.subspan(i * outputs_, outputs_);
            rows_.insert(rows_.end(), row.begin(), row.end());
        }
    }

    const partition::Part& part_;
    nn::Objective objective_;
    std::size_t outputs_;
    SeedTargetReader targets_;
    std::vector<VertexId> seeds_;
    std::vector<float> rows_;
};

}  // namespace

PartScores& PartScores::operator+=(const PartScores& other) noexcept {
    for (std::size_t r = 0; r < roles.size(); ++r) {
        roles[r] += other.roles[r];
        vertices[r] += other.vertices[r];
    }
    return *this;
}

void add_scores(const partition::Part& part, nn::Objective objective, std::size_t outputs,
                LocalId first, std::span<const float> scores, PartScores& sums) {
    if (part.roles().empty()) return;
    const std::size_t count = scores.size() / outputs;
    std::vector<PartScores> groups(chunk_count(count, group_rows));
    constexpr std::size_t groups_per_task = 8;
    parallel_chunks(groups.size(), groups_per_task, [&](const Chunk& chunk) {
        GroupScorer scorer(part, objective, outputs);
        for (std::size_t g = chunk.begin; g < chunk.end; ++g) {
            const std::size_t at = g * group_rows;
            const std::size_t rows = std::min<std::size_t>(group_rows, count - at);
            groups[g] = scorer.score(static_cast<LocalId>(first + at),
                                     scores.subspan(at * outputs, rows * outputs));
        }
    });
    for (const PartScores& group : groups)
        sums += group;
}

}  // namespace rudder::train
