#include "step_ids.hpp"

#include <algorithm>

#include "rudder/core/parallel.hpp"

namespace rudder::buffer {

namespace {

/// Ids that one thread looks up at a time.
constexpr std::size_t chunk_ids = std::size_t{1} << 13;

}  // namespace

void cut_batch(std::span<const VertexId> vertices, std::size_t batch,
               std::vector<StepPiece>& pieces) {
    for (std::size_t first = 0; first < vertices.size(); first += piece_vertices) {
        const std::size_t count = std::min(piece_vertices, vertices.size() - first);
        pieces.push_back({vertices.subspan(first, count), batch, first});
    }
}

/// Looking up is most of it and safe on all threads; only the few new rows need an order.
void DistinctRows::find(std::span<const VertexId> ids, std::span<RowKey> keys) {
    parallel_chunks(ids.size(), chunk_ids, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        numbering_.find(ids.subspan(chunk.begin, count), keys.subspan(chunk.begin, count));
    });
    numbering_.add_missing(ids, keys);
}

void DistinctRows::add(std::span<const VertexId> ids, std::vector<RowKey>& rows,
                       std::vector<std::uint32_t>& positions) {
    if (once_) {
        const std::size_t before = rows.size();
        rows.resize(before + ids.size());
        find(ids, std::span(rows).subspan(before));
        positions.clear();
        return;
    }
    keys_.resize(ids.size());
    find(ids, keys_);
    positions.resize(ids.size());
    if (seen_.size() < numbering_.size()) {
        seen_.resize(numbering_.size() + std::size_t{numbering_.size() / 8});
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i + lead < ids.size()) __builtin_prefetch(&seen_[keys_[i + lead]], 1);
        Seen& seen = seen_[keys_[i]];
        if (seen.list != list_) {
            seen = {list_, static_cast<std::uint32_t>(rows.size())};
            rows.push_back(keys_[i]);
        }
        positions[i] = seen.position;
    }
}

LocalRows::LocalRows(std::span<const LocalRange> ranges, std::uint64_t batches, bool repeats)
    : once_(batches <= 1 && !repeats) {
    VertexId all = 0;
    for (const LocalRange& range : ranges) {
        if (range.begin == range.end) continue;
        if (!ranges_.empty() && ranges_.back().end == range.begin) {
            ranges_.back().end = range.end;
        } else {
            ranges_.push_back(range);
            base_.push_back(all);
        }
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
