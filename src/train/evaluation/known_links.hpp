// The vertices that own vertices are joined with, whatever the role of the link.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "rudder/partition/part.hpp"
#include "sample/links.hpp"

namespace rudder::train {

/// A view of this rank's parts and, of directed graphs, of their links.
class KnownLinks {
public:
    /// What is given must outlive it.
    KnownLinks(std::span<const partition::Part> own, std::span<const sample::PartLinks> links,
               bool symmetric)
        : own_(own), links_(links), symmetric_(symmetric) {}

    /// Calls `target` with each that an own vertex has a link to; in no order, some twice.
    template <class Target>
    void each(VertexId source, Target&& target) const {
        const auto part = std::ranges::find_if(
            own_, [&](const partition::Part& one) { return one.range().contains(source); });
        const auto local = static_cast<LocalId>(source - part->range().begin);
        if (symmetric_) {
            for (const LocalId u : part->row(local))
                target(part->global(u));
            return;
        }
        // The row of a vertex has those with links to it.
        const sample::PartLinks& links = links_[static_cast<std::size_t>(part - own_.begin())];
        for (const sample::LinkList* list :
             std::array{&links.train, &links.valid, &links.test, &links.none}) {
            const auto [begin, end] =
                std::equal_range(list->sources.begin(), list->sources.end(), local);
            for (auto at = begin; at != end; ++at)
                target(list->targets[static_cast<std::size_t>(at - list->sources.begin())]);
        }
    }

private:
    std::span<const partition::Part> own_;
    std::span<const sample::PartLinks> links_;
    bool symmetric_;
};

}  // namespace rudder::train
