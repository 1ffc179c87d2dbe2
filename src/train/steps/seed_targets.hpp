// The targets of seeds, gathered from the part that owns them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/train/options.hpp"
#include "sample/links.hpp"

namespace rudder::train {

/// The targets that a task is about: of vertices, or of edges. Of links there are none.
[[nodiscard]] const graph::TargetInfo& learned_targets(TaskKind task,
                                                       const graph::DatasetInfo& info) noexcept;
/// The objective of such targets; an input Error naming `where` if there are none.
[[nodiscard]] nn::Objective objective_of(TaskKind task, const graph::TargetInfo& targets,
                                         const std::string& where);

/// The pairs of a batch of links, in memory of its own, which the next call overwrites.
class SeedPairReader {
public:
    /// `group` pairs for each link: it, and those drawn beside it.
    nn::SeedTargets gather(const sample::Batch& batch, std::uint32_t group);
    /// The same of edges with targets, which `places` say of the part's.
    nn::SeedTargets gather(const sample::Batch& batch, const partition::Part& part,
                           const sample::LinkList& edges, std::span<const LocalId> places);

private:
    std::vector<LocalId> sources_;
    std::vector<LocalId> targets_;
    std::vector<std::int32_t> classes_;
    std::vector<std::uint8_t> multilabel_;
    std::vector<float> regression_;
};

/// The targets of entries of a part's rows, copied one after the other.
struct EdgeTargetRows {
    std::vector<std::int32_t>& classes;
    std::vector<std::uint8_t>& multilabel;
    std::vector<float>& regression;

    /// `entry(i)` is the i-th of `count`.
    template <class Entry>
    [[nodiscard]] nn::SeedTargets gather(const partition::Part& part, std::size_t count,
                                         Entry&& entry) const {
        const graph::TargetInfo& info = part.info().edge_targets;
        const graph::TargetView view = part.edge_data().targets;
        const auto copy = [&](const auto& from, std::uint64_t width, auto& to) {
            to.clear();
            to.reserve(count * width);
            for (std::size_t i = 0; i < count; ++i) {
                const auto row = from.subspan(entry(i) * width, width);
                to.insert(to.end(), row.begin(), row.end());
            }
        };
        nn::SeedTargets targets;
        if (info.kind == graph::TargetKind::classes) copy(view.classes, 1, classes);
        if (info.kind == graph::TargetKind::multilabel)
            copy(view.multilabel, info.count, multilabel);
        if (info.kind == graph::TargetKind::regression)
            copy(view.regression, info.count, regression);
        targets.classes = classes;
        targets.multilabel = multilabel;
        targets.regression = regression;
        return targets;
    }
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
