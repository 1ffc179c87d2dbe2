// The vertices that own vertices are joined with, whatever the role of the link.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "rudder/partition/part.hpp"
#include "sample/links.hpp"

namespace rudder::train {

/// A view of this rank's parts and, of directed graphs, of their links.
class KnownLinks {
public:
    /// What is given must outlive it. In a graph of several types `types` are those of links.
    KnownLinks(std::span<const partition::Part> own, std::span<const sample::PartLinks> links,
               bool symmetric, const std::optional<sample::LinkTypes>& types = {})
        : own_(own), links_(links), in_row_(symmetric || (types && types->reverse)) {
        if (types) type_ = types->reverse ? *types->reverse : types->type;
    }

    /// Calls `target` with each that an own vertex has a link to; in no order, some twice.
    template <class Target>
    void each(VertexId source, Target&& target) const {
        const auto part = std::ranges::find_if(
            own_, [&](const partition::Part& one) { return one.range().contains(source); });
        const auto local = static_cast<LocalId>(source - part->range().begin);
        if (in_row_ && type_) {
            const std::span<const std::uint8_t> types = part->edge_data().type;
            for (EdgeIndex e = part->offsets()[local]; e < part->offsets()[local + 1U]; ++e) {
                if (types[e] == *type_) target(part->global(part->neighbours()[e]));
            }
            return;
        }
        if (in_row_) {
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
    bool in_row_;                       ///< the row of a source has its links
    std::optional<std::uint8_t> type_;  ///< of these entries, in a graph of several
};

}  // namespace rudder::train
