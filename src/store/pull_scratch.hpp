// What a pull needs besides its rows' places, kept between pulls: tables, lists, landing memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/executor/monitor.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/core/types.hpp"

#include "owner_order.hpp"

namespace rudder::store {

/// From vertices to the places where their rows go first. Open addressing; holds what it was sized
/// for, and is emptied by `reset`.
class FirstPlaces {
public:
    /// Makes it empty, with room for so many vertices.
    void reset(std::size_t vertices);
    /// The place of v: `place` itself if v was not there.
    float* insert(VertexId v, float* place) noexcept {
        for (std::size_t i = (v * 0x9e3779b97f4a7c15U) >> shift_;; i = (i + 1) & mask_) {
            Entry& entry = entries_[i];
            if (entry.place == nullptr) {
                entry = {v, place};
                return place;
            }
            if (entry.vertex == v) return entry.place;
        }
    }

private:
    struct Entry {
        VertexId vertex;
        float* place;
    };
    Array<Entry> entries_;
    std::size_t mask_ = 0;
    int shift_ = 63;
};

/// A set of numbers below a limit, for counting distinct ones.
class NumberSet {
public:
    explicit NumberSet(std::uint64_t limit) : words_((limit + 63) / 64) {}
    /// Whether x is new.
    bool insert(std::uint64_t x) {
        std::uint64_t& word = words_[x / 64];
        const std::uint64_t bit = std::uint64_t{1} << (x % 64);
        if (word == 0) touched_.push_back(x / 64);
        const bool fresh = (word & bit) == 0;
        word |= bit;
        return fresh;
    }
    void clear() noexcept;

private:
    std::vector<std::uint64_t> words_;
    std::vector<std::uint64_t> touched_;
};

/// A row that goes to a second place.
struct RepeatedRow {
    const float* from;
    float* to;
};

struct PullScratch {
    explicit PullScratch(VertexId host_rows) : seen(host_rows) {}

    OwnerOrder<float*> wanted;  ///< rows of other hosts, and where each goes first
    // The same in the order in which they are asked for.
    RawVector<VertexId> vertices;
    RawVector<float*> places;
    Array<std::byte> landing;  ///< only grows
    std::vector<RepeatedRow> repeats;
    FirstPlaces first;
    NumberSet seen;  ///< own-host rows of this pull

    void clear() noexcept;
    /// Orders what is wanted, with `row_bytes` of landing memory for each; how many rows of each
    /// owner there are goes to `by_owner`.
    void order(std::size_t row_bytes, std::span<std::uint64_t> by_owner);
};

/// Scratch of pulls that are over, for those to come. As many are made as pulls run at once.
class ScratchPool {
public:
    explicit ScratchPool(VertexId host_rows) : host_rows_(host_rows) {}
    [[nodiscard]] std::shared_ptr<PullScratch> take();
    void give_back(std::shared_ptr<PullScratch> scratch);

private:
    VertexId host_rows_;
    Monitor monitor_;
    std::vector<std::shared_ptr<PullScratch>> free_;
};

}  // namespace rudder::store
