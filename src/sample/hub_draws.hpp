// What vertices of very many neighbours keep from step to step: those that could be kept next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/raw_vector.hpp"
#include "rudder/core/types.hpp"

#include "shared_numbers.hpp"

namespace rudder::sample {

/// Ids and their numbers.
struct Candidates {
    RawVector<std::uint32_t> ids;
    RawVector<std::uint32_t> numbers;
    std::size_t count = 0;

    /// Adds those of `of` whose number is at most `limit`, in order.
    void collect(DrawCode code, const SharedNumbers& shared, std::span<const std::uint32_t> of,
                 std::uint32_t limit);
};

/// How large a number may be for a neighbour to be looked at, so that somewhat more than `wanted`
/// of `degree` are.
[[nodiscard]] std::uint32_t candidate_limit(std::size_t wanted, EdgeIndex degree,
                                            double more) noexcept;

/// A hub as one layer sees it: the neighbours with small numbers, ascending. One stretch of memory:
/// this, `room` ids, `room` numbers.
struct HubLayer {
    const std::uint32_t* neighbours;  ///< of the hub, by phase
    const std::uint32_t* starts;      ///< of the phases: redraw + 1 numbers
    std::uint64_t step;
    std::uint32_t wanted;  ///< 0: nothing is known
    std::uint32_t limit;
    std::uint32_t count;
    std::uint32_t room;

    [[nodiscard]] std::uint32_t* ids() noexcept {
        return reinterpret_cast<std::uint32_t*>(this + 1);
    }
    [[nodiscard]] std::uint32_t* numbers() noexcept { return ids() + room; }
};

/// From step to step one neighbour in `redraw` has another number. So a hub's neighbours are kept
/// in the order of their phases, and with each layer those with small numbers: on the way to
/// another step only the phases that redraw in between are looked at. No result depends on it.
class HubDraws {
public:
    /// From which degree on a row is worth it; of redraws from 4 on.
    static constexpr EdgeIndex least_degree = 512;
    static constexpr std::uint32_t least_redraw = 4;

    /// Bytes it may hold; hubs beyond are not kept.
    explicit HubDraws(std::uint64_t max_bytes = std::uint64_t{256} << 20) : max_bytes_(max_bytes) {}

    /// The hub of a vertex in a layer; null if it is not known.
    [[nodiscard]] HubLayer* find(std::uint32_t vertex, std::uint32_t layer) const noexcept {
        return layers_.find(std::uint64_t{layer} << 32 | vertex);
    }
    /// Makes it known; null if there is no room.
    HubLayer* add(std::uint32_t vertex, std::uint32_t layer, std::span<const std::uint32_t> row,
                  const SharedNumbers& numbers, std::size_t wanted);
    /// Brings the candidates of a hub to a step: at least `wanted`, all those with the smallest
    /// numbers among them. False where they are more than there is room for. `wanted` is below its
    /// degree; `found` is memory.
    [[nodiscard]] bool bring(HubLayer& hub, DrawCode code, const SharedNumbers& numbers,
                             std::uint64_t step, std::size_t wanted, Candidates& found) const;
    /// Forgets everything unless it was kept for this redraw and seed.
    void keep_for(const StreamKey& key, std::uint32_t redraw);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
    /// Open addressing by a key; a power of two of places.
    template <class Value>
    class Table {
    public:
        [[nodiscard]] Value find(std::uint64_t key) const noexcept {
            return places_.empty() ? Value{} : places_[place(key)].value;
        }
        void add(std::uint64_t key, Value value);
        void clear() noexcept {
            places_.clear();
            used_ = 0;
        }

    private:
        struct Place {
            std::uint64_t key = 0;
            Value value{};  ///< null: free
        };
        [[nodiscard]] std::size_t place(std::uint64_t key) const noexcept {
            const std::size_t mask = places_.size() - 1;
            std::size_t at = (key * 0x9E3779B97F4A7C15U) >> 32 & mask;
            while (places_[at].value != Value{} && places_[at].key != key)
                at = (at + 1) & mask;
            return at;
        }
        std::vector<Place> places_;
        std::size_t used_ = 0;
    };
    struct alignas(64) Line {
        std::byte bytes[64];
    };

    [[nodiscard]] std::uint32_t* neighbours(std::uint32_t vertex,
                                            std::span<const std::uint32_t> row,
                                            const SharedNumbers& numbers);
    /// Memory that stays where it is; null if there is no room.
    [[nodiscard]] std::byte* take(std::uint64_t bytes);
    void collect(const HubLayer& hub, DrawCode code, const SharedNumbers& numbers,
                 std::uint32_t begin, std::uint32_t end, Candidates& found) const;
    [[nodiscard]] bool fill(HubLayer& hub, DrawCode code, const SharedNumbers& numbers,
                            Candidates& found) const;

    Table<std::uint32_t*> hubs_;  ///< starts, and behind them ids by phase
    Table<HubLayer*> layers_;
    std::vector<RawVector<Line>> memory_;
    std::uint64_t left_ = 0;  ///< lines of the last piece of memory
    std::uint64_t max_bytes_;
    std::uint64_t bytes_ = 0;
    std::uint64_t seed_ = 0;
    std::uint32_t redraw_ = 0;
    Purpose purpose_ = Purpose::sample;
};

}  // namespace rudder::sample
