#include "edge_scores.hpp"

#include <algorithm>
#include <array>

#include "core/span.hpp"
#include "rudder/nn/loss.hpp"
#include "train/steps/seed_targets.hpp"

#include "pair_tiles.hpp"

namespace rudder::train {

namespace {

constexpr std::size_t edges_at_once = std::size_t{1} << 14;

/// A label of the data set and what the network calls it.
struct KnownColumn {
    std::size_t label;
    std::size_t output;
};

/// Of several labels those that both sides know, in the network's order.
std::vector<KnownColumn> known_columns(std::span<const std::int32_t> outputs) {
    std::vector<KnownColumn> known;
    for (std::size_t c = 0; c < outputs.size(); ++c) {
        if (outputs[c] != graph::no_label)
            known.push_back({c, static_cast<std::size_t>(outputs[c])});
    }
    std::ranges::sort(known, {}, &KnownColumn::output);
    return known;
}

/// Whether a row of several labels has one that the network does not know.
bool has_unknown(std::span<const std::uint8_t> row, std::span<const std::int32_t> outputs) {
    for (std::size_t c = 0; c < row.size(); ++c) {
        if (row[c] == 1 && outputs[c] == graph::no_label) return true;
    }
    return false;
}

/// Keeps some columns of rows, in place.
template <class T, class Column>
std::size_t keep_columns(std::vector<T>& rows, std::size_t width,
                         std::span<const KnownColumn> known, Column&& column) {
    std::vector<T> kept;
    kept.reserve(rows.size() / width * known.size());
    for (std::size_t first = 0; first < rows.size(); first += width) {
        for (const KnownColumn& one : known)
            kept.push_back(rows[first + column(one)]);
    }
    rows.swap(kept);
    return known.size();
}

}  // namespace

PartScores EdgeScorer::score(const partition::Part& part, const sample::PartLinks& edges) {
    const Span span("scoring edges");
    PartScores sums;
    constexpr std::array roles{graph::Role::train, graph::Role::valid, graph::Role::test};
    for (std::size_t r = 0; r < roles.size(); ++r) {
        const sample::LinkList& list = edges.of(roles[r]);
        const std::size_t as = scoring_.reading.all_test ? roles.size() - 1 : r;
        for (std::size_t first = 0; first < list.size(); first += edges_at_once) {
            score_some(part, list, first, std::min(edges_at_once, list.size() - first), sums, as);
        }
    }
    return sums;
}

void EdgeScorer::score_some(const partition::Part& part, const sample::LinkList& list,
                            std::size_t first, std::size_t count, PartScores& sums,
                            std::size_t role) {
    sources_.resize(count);
    const auto targets_here = std::span(list.targets).subspan(first, count);
    targets_.assign(targets_here.begin(), targets_here.end());
    for (std::size_t i = 0; i < count; ++i)
        sources_[i] = part.range().begin + list.sources[first + i];
    scores_.resize(count * scoring_.outputs);
    score_own_pairs(network_, rows_, sources_, targets_, scores_);
    nn::SeedTargets targets = EdgeTargetRows{classes_, multilabel_, regression_}.gather(
        part, count, [&](std::size_t i) { return list.entries[first + i]; });
    std::size_t columns = scoring_.outputs;
    std::uint64_t unknown = 0;
    const std::span<const std::int32_t> outputs = scoring_.reading.outputs;
    if (!outputs.empty() && scoring_.objective == nn::Objective::classes) {
        for (std::int32_t& label : classes_) {
            label = outputs[static_cast<std::size_t>(label)];
            unknown += label == graph::no_label;
        }
        targets.classes = classes_;
    } else if (!outputs.empty() && scoring_.objective == nn::Objective::multilabel) {
        const std::vector<KnownColumn> known = known_columns(outputs);
        for (std::size_t i = 0; i < count; ++i) {
            unknown += has_unknown(
                std::span(multilabel_).subspan(i * outputs.size(), outputs.size()), outputs);
        }
        if (known.empty()) return;
        columns = keep_columns(scores_, columns, known, [](auto& one) { return one.output; });
        keep_columns(multilabel_, outputs.size(), known, [](auto& one) { return one.label; });
        targets.multilabel = multilabel_;
    }
    const nn::LossSums loss = nn::loss_and_gradient(scoring_.objective, targets, 1,
                                                    {scores_.data(), count, columns, columns});
    sums.roles[role] += Score{loss.correct, loss.answers, loss.loss};
    const bool classes = scoring_.objective == nn::Objective::classes;
    sums.vertices[role] += count - (classes ? unknown : 0);
    sums.unknown += unknown;
}

}  // namespace rudder::train
