#include "step_ids.hpp"

#include <numeric>

#include "rudder/core/parallel.hpp"

namespace rudder::buffer {

namespace {

/// Ids from which several threads are worth starting, and those of one chunk.
constexpr std::size_t parallel_from = std::size_t{1} << 16;
constexpr std::size_t chunk_ids = std::size_t{1} << 14;

}  // namespace

void DistinctRows::add(std::span<const VertexId> ids, std::vector<RowKey>& rows,
                       std::span<std::uint32_t> positions) {
    keys_.resize(ids.size());
    // Looking up is most of it and safe on all threads; only the few new rows need an order.
    if (ids.size() < parallel_from) {
        numbering_.find(ids, keys_);
    } else {
        parallel_chunks(ids.size(), chunk_ids, [&](const Chunk& chunk) {
            const std::size_t count = chunk.end - chunk.begin;
            numbering_.find(ids.subspan(chunk.begin, count),
                            std::span(keys_).subspan(chunk.begin, count));
        });
    }
    numbering_.add_missing(ids, keys_);
    if (once_) {
        std::iota(positions.begin(), positions.end(), static_cast<std::uint32_t>(rows.size()));
        rows.insert(rows.end(), keys_.begin(), keys_.end());
        return;
    }
    if (seen_.size() < numbering_.size()) {
        seen_.resize(numbering_.size() + std::size_t{numbering_.size() / 8});
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        Seen& seen = seen_[keys_[i]];
        if (seen.list != list_) {
            seen = {list_, static_cast<std::uint32_t>(rows.size())};
            rows.push_back(keys_[i]);
        }
        positions[i] = seen.position;
    }
}

LocalRows::LocalRows(std::span<const LocalRange> ranges, std::uint64_t batches)
    : ranges_(ranges.begin(), ranges.end()), batches_(batches) {
    VertexId all = 0;
    for (const LocalRange& range : ranges_) {
        base_.push_back(all);
        all += range.end - range.begin;
    }
    if (!counts_once()) words_.resize((all + 63) / 64);
}

void LocalRows::begin() noexcept {
    for (const std::uint64_t word : touched_)
        words_[word] = 0;
    touched_.clear();
}

std::uint64_t LocalRows::add(std::span<const VertexId> ids) {
    if (counts_once()) return ids.size();
    std::uint64_t fresh = 0;
    for (const VertexId v : ids) {
        std::size_t r = 0;
        while (v < ranges_[r].begin || v >= ranges_[r].end)
            ++r;
        const VertexId at = base_[r] + (v - ranges_[r].begin);
        std::uint64_t& word = words_[at / 64];
        const std::uint64_t bit = std::uint64_t{1} << (at % 64);
        if (word == 0) touched_.push_back(at / 64);
        fresh += (word & bit) == 0 ? 1U : 0U;
        word |= bit;
    }
    return fresh;
}

}  // namespace rudder::buffer
