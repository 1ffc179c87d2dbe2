#include "link_ranker.hpp"

#include <algorithm>

#include "core/span.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

namespace rudder::train {

namespace {

/// Links whose standing is kept at once: a pass over all vertices for each so many.
constexpr std::size_t links_at_once = std::size_t{1} << 20;

}  // namespace

void LinkRanker::rank(std::span<const VertexId> sources, std::span<const VertexId> targets,
                      RankedLinks& sums) {
    const Span span("ranking links");
    lanes_.resize(static_cast<std::size_t>(thread_count()));
    for (std::size_t at = 0; at < sources.size(); at += links_at_once) {
        const std::size_t count = std::min(links_at_once, sources.size() - at);
        rank_stretch(sources.subspan(at, count), targets.subspan(at, count), sums);
    }
    for (Lane& lane : lanes_)
        sums.ranking += lane.ranking;
    lanes_.clear();
}

void LinkRanker::rank_stretch(std::span<const VertexId> sources, std::span<const VertexId> targets,
                              RankedLinks& sums) {
    scores_.resize(sources.size());
    score_own_pairs(network_, rows_, sources, targets, scores_);
    standings_.assign(sources.size(), {});
    PairTiles tiles(network_, rows_);
    for (Lane& lane : lanes_)
        lane.joined.assign(tiles.tile_rows(), 0);
    for (const sample::VertexStretches::Stretch& stretch : among_.all()) {
        for (VertexId first = stretch.begin; first < stretch.end; first += tiles.tile_rows()) {
            const VertexId left = stretch.end - first;
            tiles.enter(first,
                        static_cast<std::size_t>(std::min<VertexId>(left, tiles.tile_rows())));
            number_ = stretch.number + (first - stretch.begin);
            rank_tile(tiles, sources, targets);
        }
    }
    for (std::size_t l = 0; l < sources.size(); ++l) {
        const Standing& at = standings_[l];
        sums.ranking.add_link(scores_[l], at.above, at.equal);
        sums.pairs.correct += at.all - at.above - at.equal;
        sums.pairs.answers += at.all;
    }
}

void LinkRanker::rank_tile(PairTiles& tiles, std::span<const VertexId> sources,
                           std::span<const VertexId> targets) {
    tiles.begin();
    round_.clear();
    for (std::size_t l = 0; l < sources.size(); ++l) {
        const bool same = !round_.empty() && sources[l] == sources[l - 1];
        if (!same && tiles.full()) {
            finish_round(tiles, sources, targets);
            tiles.begin();
            round_.clear();
        }
        if (!same) tiles.add_source(sources[l]);
        if (same && (!draws() || !given_of(sources[l]).empty())) {
            round_.push_back({l, round_.back().first, round_.back().last});
            continue;
        }
        const std::size_t begin = tiles.pairs();
        add_others(tiles, sources[l], targets[l]);
        round_.push_back({l, begin, tiles.pairs()});
    }
    finish_round(tiles, sources, targets);
}

/// The vertices of the tile that a link is ranked among.
void LinkRanker::add_others(PairTiles& tiles, VertexId source, VertexId target) const {
    if (const std::span<const VertexId> given = given_of(source); !given.empty()) {
        const VertexId end = tiles.first() + tiles.count();
        for (auto at = std::ranges::lower_bound(given, tiles.first());
             at != given.end() && *at < end; ++at) {
            tiles.add(static_cast<std::size_t>(*at - tiles.first()));
        }
    } else if (draws()) {
        add_drawn(tiles, source, target);
    } else {
        for (std::size_t t = 0; t < tiles.count(); ++t)
            tiles.add(t);
    }
}

/// Of the link's stretches that have vertices of the tile, those whose draw is one of them.
void LinkRanker::add_drawn(PairTiles& tiles, VertexId source, VertexId target) const {
    __extension__ using Wide = unsigned __int128;
    const VertexId vertices = among_.count();
    const std::uint64_t others = options_.others;
    const auto start = [&](std::uint64_t j) {
        return static_cast<VertexId>(Wide{j} * vertices / others);
    };
    const RandomStream stream(
        {.purpose = Purpose::evaluate, .seed = options_.seed, .step = target, .layer = 1});
    const VertexId end = number_ + tiles.count();
    auto j = static_cast<std::uint64_t>(Wide{number_} * others / vertices);
    for (j = j == 0 ? 0 : j - 1; j < others && start(j) < end; ++j) {
        const auto words = stream.block(source, j);
        const Wide word = std::uint64_t{words[0]} << 32 | words[1];
        const VertexId drawn =
            start(j) + static_cast<VertexId>(word * (start(j + 1) - start(j)) >> 64);
        if (drawn >= number_ && drawn < end) tiles.add(static_cast<std::size_t>(drawn - number_));
    }
}

void LinkRanker::finish_round(PairTiles& tiles, std::span<const VertexId> sources,
                              std::span<const VertexId> targets) {
    if (tiles.pairs() == 0) return;
    tiles.score();
    // A link's own counts are its own, and sums of lanes are whole numbers: no order shows.
    const std::size_t each = (round_.size() + lanes_.size() - 1) / lanes_.size();
    parallel_chunks(round_.size(), each, [&](const Chunk& chunk) {
        count(tiles, std::span(round_).subspan(chunk.begin, chunk.end - chunk.begin), sources,
              targets, lanes_[chunk.index]);
    });
}

void LinkRanker::count(const PairTiles& tiles, std::span<const Round> links,
                       std::span<const VertexId> sources, std::span<const VertexId> targets,
                       Lane& lane) {
    const auto mark = [&](VertexId v, std::uint8_t joined) {
        if (v >= tiles.first() && v < tiles.first() + tiles.count())
            lane.joined[static_cast<std::size_t>(v - tiles.first())] = joined;
    };
    const auto mark_all = [&](const Round& one, std::uint8_t joined) {
        const VertexId source = sources[one.link];
        mark(source, joined);
        mark(targets[one.link], joined);
        if (options_.filtered) known_.each(source, [&](VertexId v) { mark(v, joined); });
    };
    for (const Round& one : links) {
        if (one.first == one.last) continue;
        mark_all(one, 1);
        const float score = scores_[one.link];
        Standing standing;
        for (std::size_t p = one.first; p < one.last; ++p) {
            if (lane.joined[tiles.target_of(p)] != 0) continue;
            const float other = tiles.score_of(p);
            standing.above += other > score ? 1U : 0U;
            standing.equal += other == score ? 1U : 0U;
            ++standing.all;
            lane.ranking.add_other(other);
        }
        mark_all(one, 0);
        standings_[one.link].above += standing.above;
        standings_[one.link].equal += standing.equal;
        standings_[one.link].all += standing.all;
    }
}

LinkScore link_score(const LinkScores& scores) {
    static_assert(hit_ranks == std::array<std::uint32_t, 5>{1, 3, 10, 50, 100});
    return {.links = scores.links,
            .mrr = scores.mrr,
            .hits_1 = scores.hits[0],
            .hits_3 = scores.hits[1],
            .hits_10 = scores.hits[2],
            .hits_50 = scores.hits[3],
            .hits_100 = scores.hits[4],
            .auc = scores.auc};
}

}  // namespace rudder::train
