#include "pair_tiles.hpp"

#include <algorithm>
#include <numeric>

#include "rudder/core/check.hpp"

namespace rudder::train {

namespace {

constexpr std::size_t tile_bytes = std::size_t{16} << 20;
constexpr std::size_t least_tile = 256;
constexpr std::size_t most_tile = std::size_t{1} << 14;
constexpr std::size_t pairs_at_once = 4096;

}  // namespace

PairTiles::PairTiles(nn::Network& network, const VertexRows& rows)
    : network_(network),
      rows_(rows),
      tile_rows_(std::clamp(tile_bytes / (rows.columns() * sizeof(float)), least_tile, most_tile)) {
    tile_rows_ = static_cast<std::size_t>(std::min<VertexId>(tile_rows_, rows.vertices()));
    fit(memory_, (most_sources + tile_rows_) * rows.columns());
    std::ranges::fill(memory_->span(), 0.F);  // rows of sources that are not there are not scored
}

void PairTiles::enter(VertexId first, std::size_t count) {
    RUDDER_CHECK(count <= tile_rows_);
    first_ = first;
    count_ = count;
    ids_.resize(count);
    std::iota(ids_.begin(), ids_.end(), first);
    rows_.gather(ids_, memory_, most_sources);
}

void PairTiles::begin() {
    sources_ = 0;
    sources_of_.clear();
    targets_of_.clear();
}

void PairTiles::add_source(VertexId own) {
    RUDDER_CHECK(sources_ < most_sources);
    std::copy_n(rows_.own_row(own), rows_.columns(),
                memory_->data() + sources_++ * rows_.columns());
}

void PairTiles::score() {
    scores_.resize(pairs());
    const std::size_t columns = rows_.columns();
    network_.score_pairs({memory_->data(), most_sources + count_, columns, columns},
                         {.sources = sources_of_, .targets = targets_of_}, scores_);
}

void score_own_pairs(nn::Network& network, const VertexRows& rows,
                     std::span<const VertexId> sources, std::span<const VertexId> targets,
                     std::span<float> scores) {
    const std::size_t columns = rows.columns();
    const std::size_t outputs = sources.empty() ? 1 : scores.size() / sources.size();
    std::shared_ptr<Array<float>> memory;
    fit(memory, 2 * pairs_at_once * columns);
    std::vector<VertexId> ids;
    std::vector<LocalId> from;
    std::vector<LocalId> to;
    for (std::size_t at = 0; at < sources.size(); at += pairs_at_once) {
        const std::size_t count = std::min(pairs_at_once, sources.size() - at);
        ids.assign(targets.begin() + static_cast<std::ptrdiff_t>(at),
                   targets.begin() + static_cast<std::ptrdiff_t>(at + count));
        std::ranges::sort(ids);
        ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
        rows.gather(ids, memory, count);
        from.resize(count);
        to.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            std::copy_n(rows.own_row(sources[at + i]), columns, memory->data() + i * columns);
            from[i] = static_cast<LocalId>(i);
            const auto place = std::ranges::lower_bound(ids, targets[at + i]) - ids.begin();
            to[i] = static_cast<LocalId>(count + static_cast<std::size_t>(place));
        }
        network.score_pairs({memory->data(), count + ids.size(), columns, columns},
                            {.sources = from, .targets = to},
                            scores.subspan(at * outputs, count * outputs));
    }
}

}  // namespace rudder::train
