// The vertices of a batch as they come, each once, found by a map from ids to positions.
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "rudder/core/error.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/core/types.hpp"

namespace rudder::sample {

/// The vertices of a batch as they come, each once.
template <class Map>
class Relabelling {
public:
    Relabelling(Map& map, RawVector<VertexId>& vertices) : map_(map), vertices_(vertices) {}
    ~Relabelling() { map_.end(count_); }
    Relabelling(Relabelling&&) = delete;

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

    /// Writes the position of each id, a new one for those that had none; `positions` may be where
    /// the ids are.
    template <class Id>
    void enter(std::span<const Id> ids, LocalId* positions) {
        for (std::size_t first = 0; first < ids.size(); first += stretch) {
            const std::size_t size = std::min(stretch, ids.size() - first);
            make_room(size);
            enter_stretch(ids, first, first + size, positions);
        }
    }

private:
    /// Ids are entered in stretches of this many; room is made before each.
    static constexpr std::size_t stretch = 4096;
    static constexpr std::size_t map_distance = 32;

    void make_room(std::size_t more) {
        if (count_ + more >= std::numeric_limits<LocalId>::max()) {
            throw Error(ErrorKind::failed, "a batch has 2^32 vertices or more", "the sampler",
                        "choose a smaller --batch or --fanout");
        }
        map_.reserve(count_ + more);
        if (vertices_.size() < count_ + more) vertices_.resize(count_ + more);
    }

    /// Without branches: whether an id is new is as good as random.
    template <class Id>
    void enter_stretch(std::span<const Id> ids, std::size_t begin, std::size_t end,
                       LocalId* positions) noexcept {
        VertexId* const vertices = vertices_.data();
        const LocalId base = map_.base();
        LocalId count = base + count_;
        const std::size_t last = ids.size() - 1;
        for (std::size_t i = begin; i < end; ++i) {
            map_.prefetch(ids[std::min(i + map_distance, last)]);
            const VertexId v = ids[i];
            LocalId& entry = map_.at(v);
            const LocalId found = entry;
            const bool is_new = found <= base;
            vertices[count - base] = v;
            count += is_new ? 1U : 0U;
            const LocalId place = is_new ? count : found;  // base + position + 1
            entry = place;
            positions[i] = place - base - 1;
        }
        count_ = count - base;
    }

    Map& map_;
    RawVector<VertexId>& vertices_;
    std::uint32_t count_ = 0;
};

}  // namespace rudder::sample
