#include "exact_input.hpp"

#include <algorithm>
#include <cstring>

#include "rudder/core/parallel.hpp"

namespace rudder {

namespace {

/// The exchanges of two layers that follow each other must not be taken for one another: a rank may
/// ask for rows of the next while another still ends that of the last.
constexpr Channel row_channels = user_channels;
constexpr Channel channels_per_exchange = 4;
constexpr std::size_t rows_per_task = 512;
/// Features of other ranks that are on their way at once, in bytes of floats.
constexpr std::size_t pull_bytes = std::size_t{8} << 20;

/// Copies rows from anywhere to one place, on all threads; `from(i)` is where row i lies.
template <class From>
void gather(std::size_t count, std::size_t columns, From from, float* out) {
    constexpr std::size_t ahead = 4;
    parallel_chunks(count, rows_per_task, [&](const Chunk& chunk) {
        for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
            const float* later = from(std::min(i + ahead, count - 1));
            for (std::size_t c = 0; c < columns; c += 16)
                __builtin_prefetch(later + c);
            std::memcpy(out + i * columns, from(i), columns * sizeof(float));
        }
    });
}

}  // namespace

LayerInput::LayerInput(const RankRanges& ranges, const FeatureStore& store)
    : ranges_(ranges), store_(&store), columns_(store.format().width()) {}

LayerInput::LayerInput(const Communicator& comm, const RankRanges& ranges, std::size_t layer,
                       std::span<const float> own, std::size_t columns)
    : ranges_(ranges), own_(own), columns_(columns) {
    if (comm.size() == 1) return;
    const auto channel = row_channels + static_cast<Channel>(layer % 2) * channels_per_exchange;
    exchange_ = std::make_unique<RowExchange>(
        comm, channel, RowExchange::Layout{ranges.starts, columns * sizeof(float)},
        [this](std::span<const VertexId> vertices, std::byte* out) {
            const std::size_t bytes = columns_ * sizeof(float);
            for (std::size_t i = 0; i < vertices.size(); ++i)
                std::memcpy(out + i * bytes, own_row(vertices[i]), bytes);
        });
}

void LayerInput::stop() {
    if (exchange_ != nullptr) exchange_->stop();
}

RemoteFetch LayerInput::fetch(std::span<const VertexId> ids, std::span<float> rows) const {
    std::vector<FetchRun> runs;
    for (std::size_t at = 0; at < ids.size();) {
        const auto after = std::ranges::upper_bound(ranges_.starts, ids[at]);
        const auto end = static_cast<std::size_t>(
            std::lower_bound(ids.begin() + static_cast<std::ptrdiff_t>(at), ids.end(), *after) -
            ids.begin());
        runs.push_back(
            {static_cast<int>(after - ranges_.starts.begin()) - 1, ids.subspan(at, end - at),
             std::as_writable_bytes(rows.subspan(at * columns_, (end - at) * columns_))});
        at = end;
    }
    if (runs.empty()) return {};
    return exchange_->fetch(runs, Kind::evaluation);
}

void LayerInput::enter(const ChunkedPart& part, bool keep) {
    part_ = &part;
    keeps_ = keep && part.remote_count() > 0;
    if (!keeps_) return;
    const std::vector<VertexId> ids = part.remote_ids();
    const std::size_t floats = ids.size() * columns_;
    if (kept_ == nullptr || kept_->size() < floats) {
        kept_ = nullptr;  // before the new one, lest both be there at once
        kept_ = std::make_shared<Array<float>>(Array<float>::uninitialised(floats));
    }
    const std::span<float> rows = kept_->span().subspan(0, floats);
    if (store_ == nullptr) {
        RemoteFetch landing = fetch(ids, rows);
        landing.keep(kept_);
        landing.wait();
        return;
    }
    const std::size_t step = std::max<std::size_t>(1, pull_bytes / (columns_ * sizeof(float)));
    for (std::size_t at = 0; at < ids.size(); at += step) {
        const std::size_t count = std::min(step, ids.size() - at);
        const RowsWanted wanted{std::span(ids).subspan(at, count),
                                rows.subspan(at * columns_, count * columns_)};
        store_->pull(std::span(&wanted, 1), Kind::evaluation).wait();
    }
}

void LayerInput::copy_kept(ChunkSlot& slot) const {
    const ExactChunk& chunk = slot.chunk;
    gather(
        chunk.sources.size() - chunk.here, columns_,
        [&](std::size_t i) {
            return kept_->data() + part_->remote_index(chunk.sources[chunk.here + i]) * columns_;
        },
        slot.rows.data() + chunk.here * columns_);
}

void LayerInput::begin(ChunkSlot& slot) const {
    slot.pull.reset();
    slot.fetch = {};
    store_ != nullptr ? begin_features(slot) : begin_rows(slot);
    if (keeps_) copy_kept(slot);
}

void LayerInput::begin_features(ChunkSlot& slot) const {
    const ExactChunk& chunk = slot.chunk;
    const std::size_t count = keeps_ ? chunk.here : chunk.sources.size();
    slot.ids.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        slot.ids[i] = part_->part().global(chunk.sources[i]);
    const RowsWanted wanted{slot.ids, slot.rows.subspan(0, count * columns_)};
    slot.pull.emplace(store_->pull(std::span(&wanted, 1), Kind::evaluation));
}

void LayerInput::begin_rows(ChunkSlot& slot) const {
    const ExactChunk& chunk = slot.chunk;
    const Part& part = part_->part();
    if (!keeps_) {
        // Asked for first: they travel while our own are copied.
        slot.ids.resize(chunk.sources.size() - chunk.here);
        for (std::size_t i = 0; i < slot.ids.size(); ++i)
            slot.ids[i] = part.global(chunk.sources[chunk.here + i]);
        slot.fetch = fetch(slot.ids, slot.rows.subspan(chunk.here * columns_));
    }
    gather(
        chunk.here, columns_, [&](std::size_t i) { return own_row(part.global(chunk.sources[i])); },
        slot.rows.data());
}

void LayerInput::finish(ChunkSlot& slot) {
    if (slot.pull) static_cast<void>(slot.pull->wait());
    slot.pull.reset();
    slot.fetch.wait();
}

}  // namespace rudder
