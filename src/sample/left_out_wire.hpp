// Neighbours that draws leave out, as ranks tell each other of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/types.hpp"

#include "neighbour_source.hpp"

namespace rudder::sample {

/// A neighbour that is left out, on the wire.
struct LeftOutEntry {
    std::uint64_t vertex;  ///< which of those asked for; they ascend
    VertexId neighbour;    ///< of one vertex they ascend
};

/// What entries on the wire say, as draws take it.
class LeftOutLists {
public:
    /// False if they are not what such entries can be.
    [[nodiscard]] bool fill(std::span<const LeftOutEntry> entries, std::size_t asked,
                            VertexId vertices) {
        offsets_.assign(entries.empty() ? 0 : entries.back().vertex < asked ? asked + 1 : 0, 0);
        neighbours_.clear();
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const LeftOutEntry& entry = entries[i];
            const bool ascends = i == 0 || entries[i - 1].vertex < entry.vertex ||
                                 (entries[i - 1].vertex == entry.vertex &&
                                  entries[i - 1].neighbour <= entry.neighbour);
            if (!ascends || entry.vertex >= asked || entry.neighbour >= vertices) return false;
            neighbours_.push_back(entry.neighbour);
            ++offsets_[entry.vertex + 1];
        }
        for (std::size_t i = 1; i < offsets_.size(); ++i)
            offsets_[i] += offsets_[i - 1];
        return true;
    }
    [[nodiscard]] LeftOut view() const noexcept { return {offsets_, neighbours_}; }

private:
    std::vector<std::uint32_t> offsets_;
    std::vector<VertexId> neighbours_;
};

}  // namespace rudder::sample
