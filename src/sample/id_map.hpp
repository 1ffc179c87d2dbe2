// Maps from global ids to positions in a batch: a table of all vertices, or of the batch's alone.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"

namespace rudder::sample {

// Both maps have
//     void begin();                       forgets everything (of the batch before)
//     void reserve(std::size_t entries);  room for so many in all
//     void prefetch(VertexId v) const;
//     LocalId& at(VertexId v);            the entry of v, 0 where it is new; set it at once
//     void end(std::span<const VertexId> entered);  all that were entered

/// Four bytes per vertex of the graph, on huge pages; one access each.
class DirectMap {
public:
    explicit DirectMap(VertexId vertices) : table_(Array<LocalId>::zeroed(vertices)) {}

    void begin() noexcept {}
    void reserve(std::size_t /*entries*/) noexcept {}
    void prefetch(VertexId v) const noexcept { __builtin_prefetch(table_.data() + v, 1); }
    [[nodiscard]] LocalId& at(VertexId v) noexcept { return table_.data()[v]; }
    void end(std::span<const VertexId> entered) noexcept {
        for (const VertexId v : entered)
            table_.data()[v] = 0;
    }

private:
    Array<LocalId> table_;
};

/// Open addressing with a stamp per batch, so that nothing needs to be cleared; at most half full.
class HashMap {
public:
    explicit HashMap(std::size_t slots = 1024) : slots_(std::bit_ceil(slots)) {}

    void begin() {
        if (++stamp_ == 0) {  // the stamps have come round: entries of old would look new
            slots_.assign(slots_.size(), {});
            stamp_ = 1;
        }
    }
    void reserve(std::size_t entries) {
        if (entries * 2 > slots_.size()) grow(std::bit_ceil(entries * 2));
    }
    void prefetch(VertexId v) const noexcept { __builtin_prefetch(slots_.data() + home(v), 1); }
    [[nodiscard]] LocalId& at(VertexId v) noexcept {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = home(v);; i = (i + 1) & mask) {
            Slot& slot = slots_[i];
            if (slot.stamp == stamp_ && slot.id == v) return slot.value;
            if (slot.stamp != stamp_) {
                slot = {v, stamp_, 0};
                return slot.value;
            }
        }
    }
    void end(std::span<const VertexId> /*entered*/) noexcept {}

private:
    struct Slot {
        VertexId id = 0;
        std::uint32_t stamp = 0;
        LocalId value = 0;
    };

    [[nodiscard]] std::size_t home(VertexId v) const noexcept {
        return ((v * 0x9E3779B97F4A7C15U) >> 20) & (slots_.size() - 1);
    }
    void grow(std::size_t size) {
        std::vector<Slot> before(size);
        before.swap(slots_);
        for (const Slot& slot : before) {
            if (slot.stamp == stamp_) at(slot.id) = slot.value;
        }
    }

    std::vector<Slot> slots_;
    std::uint32_t stamp_ = 0;
};

}  // namespace rudder::sample
