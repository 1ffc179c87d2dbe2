// Maps from global ids to positions in a batch: a table of all vertices, or of the batch's alone.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "core/huge_vector.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"

namespace rudder::sample {

// Entries are numbers that grow from batch to batch: one of a batch is `base()` plus its position
// plus one, and whatever is not above the base is of a batch before, and as good as nothing. So
// nothing is cleared between batches. Both maps have
//     void reserve(std::size_t entries);  room for so many of this batch in all; may change the
//     base LocalId base() const; void prefetch(VertexId v) const; LocalId& at(VertexId v); the
//     entry of v, at most the base where it is new; set it
//                                         at once
//     void end(std::size_t entries);      the batch is done; it had so many
// and Id, a type that holds every id they can be asked for.

/// The largest entry of the batches before, and what becomes of it when numbers run out.
class EntryBase {
public:
    explicit EntryBase(LocalId base) : base_(base) {}

    [[nodiscard]] LocalId value() const noexcept { return base_; }
    /// Whether a batch of so many entries has numbers left above it.
    [[nodiscard]] bool has_room(std::size_t entries) const noexcept {
        return entries <= std::numeric_limits<LocalId>::max() - base_;
    }
    /// An entry as it is once the base is 0.
    [[nodiscard]] LocalId lowered(LocalId entry) const noexcept {
        return entry > base_ ? entry - base_ : 0;
    }
    void restart() noexcept { base_ = 0; }
    void end(std::size_t entries) noexcept { base_ += static_cast<LocalId>(entries); }

private:
    LocalId base_;
};

/// Four bytes per vertex of the graph, on huge pages; one access each.
class DirectMap {
public:
    using Id = std::uint32_t;

    /// Tests begin with a base near the last number.
    explicit DirectMap(VertexId vertices, LocalId base = 0)
        : table_(Array<LocalId>::zeroed(vertices)), base_(base) {}

    void reserve(std::size_t entries) noexcept {
        if (base_.has_room(entries)) return;
        for (LocalId& entry : table_)
            entry = base_.lowered(entry);
        base_.restart();
    }
    [[nodiscard]] LocalId base() const noexcept { return base_.value(); }
    void prefetch(VertexId v) const noexcept { __builtin_prefetch(table_.data() + v, 1); }
    [[nodiscard]] LocalId& at(VertexId v) noexcept { return table_.data()[v]; }
    void end(std::size_t entries) noexcept { base_.end(entries); }

private:
    Array<LocalId> table_;
    EntryBase base_;
};

/// Open addressing, at most half full; with 32-bit keys a slot has 8 bytes.
template <class Key>
class HashMap {
public:
    using Id = Key;

    explicit HashMap(std::size_t slots = 1024, LocalId base = 0)
        : slots_(std::bit_ceil(slots)), base_(base) {}

    void reserve(std::size_t entries) {
        if (!base_.has_room(entries)) {
            for (Slot& slot : slots_)
                slot.entry = base_.lowered(slot.entry);
            base_.restart();
        }
        if (entries * 2 > slots_.size()) grow(std::bit_ceil(entries * 2));
    }
    [[nodiscard]] LocalId base() const noexcept { return base_.value(); }
    void prefetch(VertexId v) const noexcept { __builtin_prefetch(slots_.data() + home(v), 1); }
    [[nodiscard]] LocalId& at(VertexId v) noexcept { return find(v).entry; }
    void end(std::size_t entries) noexcept { base_.end(entries); }

private:
    struct Slot {
        Key key = 0;
        LocalId entry = 0;
    };

    [[nodiscard]] std::size_t home(VertexId v) const noexcept {
        return ((v * 0x9E3779B97F4A7C15U) >> 20) & (slots_.size() - 1);
    }
    /// The slot of a key; one that was free has it from now on.
    [[nodiscard]] Slot& find(VertexId v) noexcept {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = home(v);; i = (i + 1) & mask) {
            Slot& slot = slots_[i];
            if (slot.entry <= base_.value()) {
                slot.key = static_cast<Key>(v);
                return slot;
            }
            if (slot.key == v) return slot;
        }
    }
    void grow(std::size_t size) {
        HugeVector<Slot> before(size);
        before.swap(slots_);
        for (const Slot& slot : before) {
            if (slot.entry > base_.value()) find(slot.key).entry = slot.entry;
        }
    }

    HugeVector<Slot> slots_;
    EntryBase base_;
};

}  // namespace rudder::sample
