// Scores of own vertices with all others, a stretch of these at a time: in bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/nn/network.hpp"

#include "vertex_rows.hpp"

namespace rudder::train {

/// A stretch of vertices, whose rows are here, and pairs of some own vertices with them. What is
/// given must outlive it.
class PairTiles {
public:
    /// Own vertices that may be in one round of pairs.
    static constexpr std::size_t most_sources = 64;
    /// Pairs after which a round should end.
    static constexpr std::size_t many_pairs = std::size_t{1} << 18;

    PairTiles(nn::Network& network, const VertexRows& rows);

    /// Vertices of a tile, at most.
    [[nodiscard]] std::size_t tile_rows() const noexcept { return tile_rows_; }
    /// Fetches the rows of a tile: `count` vertices from `first` on.
    void enter(VertexId first, std::size_t count);
    [[nodiscard]] VertexId first() const noexcept { return first_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Begins a round of pairs.
    void begin();
    [[nodiscard]] bool full() const noexcept {
        return sources_ == most_sources || targets_of_.size() >= many_pairs;
    }
    /// Pairs that come next have this own vertex as their source.
    void add_source(VertexId own);
    /// A pair with vertex `t` of the tile.
    void add(std::size_t t) {
        sources_of_.push_back(static_cast<LocalId>(sources_ - 1));
        targets_of_.push_back(static_cast<LocalId>(most_sources + t));
    }
    [[nodiscard]] std::size_t pairs() const noexcept { return targets_of_.size(); }
    /// Scores all of them.
    void score();
    [[nodiscard]] float score_of(std::size_t pair) const noexcept { return scores_[pair]; }
    /// Its vertex, counted within the tile.
    [[nodiscard]] std::size_t target_of(std::size_t pair) const noexcept {
        return targets_of_[pair] - most_sources;
    }

private:
    nn::Network& network_;
    const VertexRows& rows_;
    std::size_t tile_rows_;
    VertexId first_ = 0;
    std::size_t count_ = 0;
    std::shared_ptr<Array<float>> memory_;  ///< rows of the sources, then of the tile
    std::vector<VertexId> ids_;
    std::size_t sources_ = 0;
    std::vector<LocalId> sources_of_;  ///< by pair
    std::vector<LocalId> targets_of_;
    std::vector<float> scores_;
};

/// What pairs of vertices score, whose targets may be anyone's: source[i] is this rank's. In the
/// order of the pairs, as many scores for each as there is room for; a few thousand pairs at a
/// time.
void score_own_pairs(nn::Network& network, const VertexRows& rows,
                     std::span<const VertexId> sources, std::span<const VertexId> targets,
                     std::span<float> scores);

}  // namespace rudder::train
