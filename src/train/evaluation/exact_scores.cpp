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
    GroupScorer(const partition::Part& part, const ScoredNetwork& network)
        : part_(part),
          view_(part.targets()),
          kind_(part.info().targets.kind),
          labels_(part.info().targets.count),
          network_(network),
          columns_(network.outputs) {
        const auto& outputs = network.reading.outputs;
        if (outputs.empty() || kind_ != graph::TargetKind::multilabel) return;
        for (std::size_t c = 0; c < outputs.size(); ++c) {
            if (outputs[c] != graph::no_label)
                known_.push_back({c, static_cast<std::size_t>(outputs[c])});
        }
        std::ranges::sort(known_, {}, &KnownLabel::output);  // sums have the network's order
        columns_ = known_.size();
    }

    /// Vertices from `first` on, as many as there are rows.
    PartScores score(LocalId first, std::span<const float> scores) {
        PartScores sums;
        for (std::size_t r = 0; r < scored_roles.size(); ++r) {
            pick(scored_roles[r], first, scores, sums.unknown);
            if (seeds_.empty() || columns_ == 0) continue;
            const nn::LossSums loss =
                nn::loss_and_gradient(network_.objective, targets(), 1,
                                      {rows_.data(), seeds_.size(), columns_, columns_});
            sums.roles[r] = {loss.correct, loss.answers, loss.loss};
            sums.vertices[r] = seeds_.size();
        }
        return sums;
    }

private:
    /// A label of the data set and what the network calls it.
    struct KnownLabel {
        std::size_t label;
        std::size_t output;
    };

    [[nodiscard]] bool maps() const noexcept { return !network_.reading.outputs.empty(); }
    [[nodiscard]] std::int32_t output_of(std::int32_t label) const noexcept {
        return network_.reading.outputs[static_cast<std::size_t>(label)];
    }
    [[nodiscard]] graph::Role role_of(std::size_t v) const noexcept {
        return network_.reading.all_test ? graph::Role::test : part_.roles()[v];
    }
    /// Whether a labelled vertex has a label that the network does not know.
    [[nodiscard]] bool has_unknown(std::size_t v) const noexcept {
        if (!maps()) return false;
        if (kind_ == graph::TargetKind::classes)
            return output_of(view_.classes[v]) == graph::no_label;
        const auto row = view_.multilabel.subspan(v * labels_, labels_);
        for (std::size_t c = 0; c < row.size(); ++c) {
            if (row[c] == 1 && network_.reading.outputs[c] == graph::no_label) return true;
        }
        return false;
    }

    void pick(graph::Role role, LocalId first, std::span<const float> scores,
              std::uint64_t& unknown) {
        seeds_.clear();
        rows_.clear();
        for (std::size_t i = 0; i < scores.size() / network_.outputs; ++i) {
            const std::size_t v = first + i;
            if (role_of(v) != role) continue;
            if (!graph::is_labelled(part_.info().targets, view_, v)) continue;
            if (has_unknown(v)) {
                ++unknown;
                if (kind_ == graph::TargetKind::classes) continue;
            }
            seeds_.push_back(part_.range().begin + v);
            const auto row = scores.subspan(i * network_.outputs, network_.outputs);
            if (known_.empty()) {
                rows_.insert(rows_.end(), row.begin(), row.end());
            } else {
                for (const KnownLabel& known : known_)
                    rows_.push_back(row[known.output]);
            }
        }
    }

    /// Those of the seeds, as the network numbers them.
    nn::SeedTargets targets() {
        nn::SeedTargets given = reader_.gather(part_, seeds_);
        if (!maps()) return given;
        if (kind_ == graph::TargetKind::classes) {
            classes_.clear();
            for (const std::int32_t label : given.classes)
                classes_.push_back(output_of(label));
            given.classes = classes_;
            return given;
        }
        multilabel_.clear();
        for (std::size_t s = 0; s < seeds_.size(); ++s) {
            for (const KnownLabel& known : known_)
                multilabel_.push_back(given.multilabel[s * labels_ + known.label]);
        }
        given.multilabel = multilabel_;
        return given;
    }

    const partition::Part& part_;
    graph::TargetView view_;
    graph::TargetKind kind_;
    std::size_t labels_;
    const ScoredNetwork& network_;
    std::vector<KnownLabel> known_;  ///< of several labels, where they are not the same
    std::size_t columns_;            ///< that are scored
    SeedTargetReader reader_;
    std::vector<VertexId> seeds_;
    std::vector<float> rows_;
    std::vector<std::int32_t> classes_;
    std::vector<std::uint8_t> multilabel_;
};

}  // namespace

PartScores& PartScores::operator+=(const PartScores& other) noexcept {
    for (std::size_t r = 0; r < roles.size(); ++r) {
        roles[r] += other.roles[r];
        vertices[r] += other.vertices[r];
    }
    unknown += other.unknown;
    return *this;
}

void add_scores(const partition::Part& part, const ScoredNetwork& network, LocalId first,
                std::span<const float> scores, PartScores& sums) {
    if (part.roles().empty() && !network.reading.all_test) return;
    const std::size_t outputs = network.outputs;
    const std::size_t count = scores.size() / outputs;
    std::vector<PartScores> groups(chunk_count(count, group_rows));
    constexpr std::size_t groups_per_task = 8;
    parallel_chunks(groups.size(), groups_per_task, [&](const Chunk& chunk) {
        GroupScorer scorer(part, network);
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
