// The engine of streaming partitioners: vertices come one after the other and go where a score is
// highest. Included by the methods only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/interrupt.hpp"

#include "loads.hpp"
#include "permutation.hpp"

namespace rudder::partition {

/// The smallest of k numbers, at hand while they change: a tournament, O(log k) per change.
class MinTree {
public:
    explicit MinTree(PartId leaves) : first_(std::bit_ceil(std::max(leaves, PartId{1}))) {
        values_.assign(first_, 1e300);
        std::fill_n(values_.begin(), leaves, 0.0);
        winners_.resize(first_);
        for (PartId node = first_ - 1; node > 0; --node)
            play(node);
    }
    void set(PartId leaf, double value) {
        values_[leaf] = value;
        for (PartId node = (first_ + leaf) / 2; node > 0; node /= 2)
            play(node);
    }
    /// The leaf with the smallest value, the lowest of several.
    [[nodiscard]] PartId least() const noexcept { return first_ == 1 ? 0 : winners_[1]; }
    [[nodiscard]] double operator[](PartId leaf) const noexcept { return values_[leaf]; }

private:
    [[nodiscard]] PartId winner(PartId node) const noexcept {
        return node >= first_ ? node - first_ : winners_[node];
    }
    void play(PartId node) {
        const PartId a = winner(2 * node);
        const PartId b = winner(2 * node + 1);
        winners_[node] = values_[b] < values_[a] ? b : a;
    }

    PartId first_;
    std::vector<double> values_;
    std::vector<PartId> winners_;
};

/// Where a stream stands, for scores that depend on it.
struct StreamState {
    std::uint32_t pass = 0;
    /// What makes loads shares of the mean of what is placed by now.
    std::array<double, balance_kinds> per_placed{};
};

/// Streams all vertices `passes` times. A Score has
///   static constexpr bool restart: whether each pass counts the loads afresh, neighbours standing
///     where the pass before put them, or takes vertices out one by one;
///   double operator()(double neighbours, PartId, const Loads&, const StreamState&): higher is
///   better.
/// In the first pass a vertex none of whose neighbours is placed waits until the end of the pass,
/// unless it is a hub, which others should rather follow. Time O(arcs + vertices log parts); no
/// memory per vertex but its part.
template <class Id, class Score>
class Streamer {
public:
    Streamer(const PartitionInput& input, std::span<const Id> neighbours,
             const PartitionOptions& options, const Score& score, Progress& progress)
        : input_(input),
          offsets_(input.graph.offsets.data()),
          neighbours_(neighbours.data()),
          options_(options),
          score_(score),
          progress_(progress),
          loads_(input, options),
          fullness_(options.parts),
          parts_(Array<PartId>::uninitialised(input.vertices())),
          counts_(options.parts + std::size_t{1}, 0) {
        std::ranges::fill(parts_.span(), options.parts);
        touched_.reserve(options.parts);
        const VertexId n = input.vertices();
        hub_degree_ = 4 * (input.graph.edges() / std::max<VertexId>(n, 1) + 1);
    }

    [[nodiscard]] Array<PartId> run() {
        const VertexId n = input_.vertices();
        const RandomStream stream({.purpose = Purpose::partition, .seed = options_.seed});
        const Permutation shuffled(n, stream);
        progress_.phase("streaming vertices", n * options_.passes);
        for (state_.pass = 0; state_.pass < options_.passes; ++state_.pass) {
            if (Score::restart && state_.pass > 0) forget_loads();
            if (options_.order == StreamOrder::random) {
                pass([&](VertexId i) { return shuffled(i); });
            } else {
                pass([](VertexId i) { return i; });
            }
            for (const VertexId v : waiting_) {
                count_neighbours(v);
                place(v);
            }
            waiting_.clear();
        }
        return std::move(parts_);
    }

private:
    static constexpr std::size_t ahead = 16;  ///< how far memory is asked for in advance
    static constexpr VertexId between_looks = 1 << 16;
    static constexpr double head_start = 1.0 / 16;  ///< share taken as placed from the start

    void forget_loads() {
        loads_.clear();
        for (PartId p = 0; p < options_.parts; ++p)
            fullness_.set(p, 0);
    }

    /// One walk over all vertices. Rows, and then the parts of the neighbours, are fetched ahead.
    template <class Order>
    void pass(Order&& order) {
        const VertexId n = input_.vertices();
        std::array<VertexId, ahead> ring{};
        for (VertexId i = 0; i < n + ahead; ++i) {
            if (i >= ahead) {
                const VertexId v = ring[i % ahead];
                count_neighbours(v);
                if (state_.pass == 0 && touched_.empty() && waits(v)) {
                    waiting_.push_back(v);
                } else {
                    place(v);
                }
                if (i % between_looks == 0) {
                    throw_if_interrupted();
                    progress_.advance(between_looks);
                }
            }
            if (i < n) {
                ring[i % ahead] = order(i);
                __builtin_prefetch(offsets_ + ring[i % ahead]);
            }
            if (i >= 4) __builtin_prefetch(neighbours_ + offsets_[ring[(i - 4) % ahead]]);
            if (i >= 8) fetch_parts(ring[(i - 8) % ahead]);
        }
    }

    void fetch_parts(VertexId v) const {
        const EdgeIndex end = std::min(offsets_[v + 1], offsets_[v] + 16);
        for (EdgeIndex e = offsets_[v]; e < end; ++e)
            __builtin_prefetch(parts_.data() + neighbours_[e]);
    }

    [[nodiscard]] bool waits(VertexId v) const {
        return offsets_[v + 1] - offsets_[v] < hub_degree_;
    }

    /// Counts the parts of v's neighbours, and lists those that occur.
    void count_neighbours(VertexId v) {
        for (const PartId p : touched_)
            counts_[p] = 0;
        touched_.clear();
        const PartId none = options_.parts;
        for (EdgeIndex e = offsets_[v]; e < offsets_[v + 1]; ++e) {
            const PartId p = parts_[neighbours_[e]];
            if (p != none && counts_[p]++ == 0) touched_.push_back(p);
        }
    }

    /// Puts v, whose neighbours have just been counted, where the score is highest.
    void place(VertexId v) {
        const Weights w = weights_of(input_, v);
        const bool leaves = !Score::restart && parts_[v] != options_.parts;
        if (leaves) {
            loads_.remove(parts_[v], w);
            fullness_.set(parts_[v], loads_.fullness(parts_[v]));
        }
        state_.per_placed = loads_.per_placed(head_start);
        const PartId p = choose(w);
        parts_[v] = p;
        loads_.add(p, w);
        fullness_.set(p, loads_.fullness(p));
    }

    /// The best part with room: one that holds a neighbour, or else the emptiest.
    [[nodiscard]] PartId choose(const Weights& w) const {
        PartId best = options_.parts;
        double best_score = 0;
        const auto consider = [&](PartId p) {
            if (!loads_.fits(p, w)) return;
            const double value = score_(static_cast<double>(counts_[p]), p, loads_, state_);
            const bool better =
                best == options_.parts || value > best_score ||
                (value == best_score &&
                 (fullness_[p] < fullness_[best] || (fullness_[p] == fullness_[best] && p < best)));
            if (better) {
                best = p;
                best_score = value;
            }
        };
        for (const PartId p : touched_)
            consider(p);
        consider(fullness_.least());
        if (best != options_.parts) return best;
        for (PartId p = 0; p < options_.parts; ++p)
            consider(p);
        return best != options_.parts ? best : fullness_.least();
    }

    const PartitionInput& input_;
    const EdgeIndex* offsets_;
    const Id* neighbours_;
    const PartitionOptions& options_;
    Score score_;
    Progress& progress_;
    Loads loads_;
    MinTree fullness_;
    Array<PartId> parts_;
    std::vector<std::uint64_t> counts_;
    std::vector<PartId> touched_;
    std::vector<VertexId> waiting_;
    EdgeIndex hub_degree_ = 0;
    StreamState state_;
};

/// Streams a graph of either width of ids.
template <class Score>
[[nodiscard]] Array<PartId> stream_parts(const PartitionInput& input,
                                         const PartitionOptions& options, const Score& score,
                                         Progress& progress) {
    return input.graph.neighbours.visit([&](auto neighbours) {
        using Id = std::remove_const_t<typename decltype(neighbours)::element_type>;
        return Streamer<Id, Score>(input, neighbours, options, score, progress).run();
    });
}

}  // namespace rudder::partition
