// Ranks links among other pairs of their sources, in a stream over the vertices of the graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/train/records.hpp"
#include "sample/links.hpp"

#include "known_links.hpp"
#include "link_ranking.hpp"
#include "pair_tiles.hpp"
#include "vertex_rows.hpp"

namespace rudder::train {

struct RankingOptions {
    /// Pairs that a link is ranked among: of its source with so many vertices, one of each of as
    /// many equal stretches of all that may be targets, keyed by the link. 0, or at least as many
    /// as there are: with all of them.
    std::uint64_t others = 1000;
    bool filtered = true;  ///< vertices that the source has another link to are not among them
    std::uint64_t seed = 0;
};

/// What ranking some links came to, on one rank.
struct RankedLinks {
    LinkRanking ranking;
    Score pairs;  ///< others that score below their link, of all
};

/// Ranks this rank's links. Neither a vertex itself nor the link's own target are among the others.
/// Memory is that of one tile and of a stretch of links, whatever the sizes of graph and lists.
class LinkRanker {
public:
    /// What is given must outlive it. Links are ranked among the vertices of `among`.
    /// `given` are pairs that links are ranked among in the place of others, where their source has
    /// any; null: none.
    LinkRanker(nn::Network& network, const VertexRows& rows, const KnownLinks& known,
               const RankingOptions& options, const sample::VertexStretches& among,
               const sample::GivenPairs* given = nullptr)
        : network_(network),
          rows_(rows),
          known_(known),
          options_(options),
          among_(among),
          given_(given) {}

    /// Links whose sources, own vertices, ascend.
    void rank(std::span<const VertexId> sources, std::span<const VertexId> targets,
              RankedLinks& sums);

private:
    struct Standing {
        std::uint64_t above = 0;
        std::uint64_t equal = 0;
        std::uint64_t all = 0;
    };
    /// Links of one round, and where their pairs are: [first, last) of the round's.
    struct Round {
        std::size_t link;
        std::size_t first;
        std::size_t last;
    };
    /// What a thread counts with.
    struct Lane {
        LinkRanking ranking;
        std::vector<std::uint8_t> joined;  ///< of a tile's vertices: not among the others
    };

    void rank_stretch(std::span<const VertexId> sources, std::span<const VertexId> targets,
                      RankedLinks& sums);
    void rank_tile(PairTiles& tiles, std::span<const VertexId> sources,
                   std::span<const VertexId> targets);
    void add_others(PairTiles& tiles, VertexId source, VertexId target) const;
    void add_drawn(PairTiles& tiles, VertexId source, VertexId target) const;
    void finish_round(PairTiles& tiles, std::span<const VertexId> sources,
                      std::span<const VertexId> targets);
    void count(const PairTiles& tiles, std::span<const Round> links,
               std::span<const VertexId> sources, std::span<const VertexId> targets, Lane& lane);
    [[nodiscard]] std::span<const VertexId> given_of(VertexId source) const noexcept {
        return given_ == nullptr ? std::span<const VertexId>{} : given_->of(source);
    }
    [[nodiscard]] bool draws() const noexcept {
        return options_.others != 0 && options_.others < among_.count();
    }

    nn::Network& network_;
    const VertexRows& rows_;
    const KnownLinks& known_;
    RankingOptions options_;
    const sample::VertexStretches& among_;
    VertexId number_ = 0;  ///< of the tile's first vertex
    const sample::GivenPairs* given_;
    std::vector<float> scores_;  ///< of a stretch's links
    std::vector<Standing> standings_;
    std::vector<Round> round_;
    std::vector<Lane> lanes_;
};

/// As records keep it.
[[nodiscard]] LinkScore link_score(const LinkScores& scores);

}  // namespace rudder::train
