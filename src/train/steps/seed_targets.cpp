#include "seed_targets.hpp"

#include "rudder/core/error.hpp"

namespace rudder::train {

namespace {

/// Copies the rows of `seeds`, `width` elements each.
template <class T>
void gather_rows(std::span<const T> from, std::uint64_t width, VertexId first,
                 std::span<const VertexId> seeds, std::vector<T>& out) {
    out.clear();
    out.reserve(seeds.size() * width);
    for (const VertexId v : seeds) {
        const auto row = from.subspan((v - first) * width, width);
        out.insert(out.end(), row.begin(), row.end());
    }
}

}  // namespace

const graph::TargetInfo& learned_targets(TaskKind task, const graph::DatasetInfo& info) noexcept {
    static const graph::TargetInfo none;
    switch (task) {
        case TaskKind::vertex:
            return info.targets;
        case TaskKind::edge:
            return info.edge_targets;
        case TaskKind::link:
            break;
    }
    return none;
}

nn::Objective objective_of(TaskKind task, const graph::TargetInfo& targets,
                           const std::string& where) {
    switch (targets.kind) {
        case graph::TargetKind::classes:
            return nn::Objective::classes;
        case graph::TargetKind::multilabel:
            return nn::Objective::multilabel;
        case graph::TargetKind::regression:
            return nn::Objective::regression;
        case graph::TargetKind::none:
            break;
    }
    if (task == TaskKind::edge) {
        throw input_error("the edges of the data set have no labels, so there is nothing to learn",
                          where,
                          "import them with a column 'label' of edges (or 'edge_label' in an NPZ "
                          "archive)");
    }
    throw input_error(
        "the data set has no labels, so there is nothing to learn", where,
        "import it with labels (--labels), or generate one with 'rudder generate sbm'");
}

nn::SeedTargets SeedPairReader::gather(const sample::Batch& batch, std::uint32_t group) {
    const std::size_t each = std::size_t{group} + 1;  // ids of a link: its source comes once
    const std::size_t links = batch.seed_positions.size() / each;
    sources_.clear();
    targets_.clear();
    for (std::size_t i = 0; i < links; ++i) {
        const LocalId* const ids = batch.seed_positions.data() + i * each;
        sources_.insert(sources_.end(), group, ids[0]);
        targets_.insert(targets_.end(), ids + 1, ids + each);
    }
    nn::SeedTargets targets;
    targets.pairs = {.sources = sources_, .targets = targets_, .group = group};
    return targets;
}

nn::SeedTargets SeedPairReader::gather(const sample::Batch& batch, const partition::Part& part,
                                       const sample::LinkList& edges,
                                       std::span<const LocalId> places) {
    nn::SeedTargets targets = EdgeTargetRows{classes_, multilabel_, regression_}.gather(
        part, places.size(), [&](std::size_t i) { return edges.entries[places[i]]; });
    targets.pairs = gather(batch, 1).pairs;
    return targets;
}

nn::SeedTargets SeedTargetReader::gather(const partition::Part& part,
                                         std::span<const VertexId> seeds) {
    const graph::TargetView view = part.targets();
    const graph::TargetInfo& info = part.info().targets;
    const VertexId first = part.range().begin;
    nn::SeedTargets targets;
    switch (info.kind) {
        case graph::TargetKind::classes:
            gather_rows(view.classes, 1, first, seeds, classes_);
            targets.classes = classes_;
            break;
        case graph::TargetKind::multilabel:
            gather_rows(view.multilabel, info.count, first, seeds, multilabel_);
            targets.multilabel = multilabel_;
            break;
        case graph::TargetKind::regression:
            gather_rows(view.regression, info.count, first, seeds, regression_);
            targets.regression = regression_;
            break;
        case graph::TargetKind::none:
            break;
    }
    return targets;
}

}  // namespace rudder::train
