#include "exact_input.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "partition/share.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::train {

namespace {

/// Copies rows [begin, end) from anywhere to one place; `from(i)` is where row i lies.
template <class From>
void copy_rows(std::size_t begin, std::size_t end, std::size_t columns, From from, std::byte* out) {
    constexpr std::size_t ahead = 4;
    for (std::size_t i = begin; i < end; ++i) {
        const float* later = from(std::min(i + ahead, end - 1));
        for (std::size_t c = 0; c < columns; c += 16)
            __builtin_prefetch(later + c);
        std::memcpy(out + i * columns * sizeof(float), from(i), columns * sizeof(float));
    }
}

/// The same of `count` rows, on all threads.
template <class From>
void gather(std::size_t count, std::size_t columns, From from, float* out) {
    constexpr std::size_t rows_per_task = 512;
    parallel_chunks(count, rows_per_task, [&](const Chunk& chunk) {
        copy_rows(chunk.begin, chunk.end, columns, from, reinterpret_cast<std::byte*>(out));
    });
}

}  // namespace

RankRanges ranges_of(const comm::Communicator& comm, const partition::PartitionedDataset& data) {
    RankRanges ranges;
    ranges.rank = comm.rank();
    for (int r = 0; r < comm.size(); ++r) {
        const partition::PartShare share = partition::share_of(data.parts(), comm.size(), r);
        ranges.starts.push_back(data.book().range(share.first).begin);
    }
    ranges.starts.push_back(data.book().vertices());
    return ranges;
}

void fit(std::shared_ptr<Array<float>>& memory, std::size_t floats) {
    if (memory != nullptr && memory->size() >= floats) return;
    memory = nullptr;  // before the new one, lest both be there at once
    memory = std::make_shared<Array<float>>(Array<float>::uninitialised(floats));
}

LayerInput::LayerInput(const RankRanges& ranges, const store::FeatureStore& store, Kept& kept)
    : ranges_(ranges), store_(&store), columns_(store.format().row_floats()), kept_(kept) {}

LayerInput::LayerInput(const comm::Communicator& comm, const RankRanges& ranges, std::size_t layer,
                       std::span<const float> own, std::size_t columns, Kept& kept)
    : ranges_(ranges), own_(own), columns_(columns), kept_(kept) {
    if (comm.size() == 1) return;
    // Two layers that follow each other must not be taken for one another: a rank may ask for rows
    // of the next while another still ends its exchange of the last.
    const comm::Channel channel =
        comm::channel_of(layer % 2 == 0 ? comm::Talk::even_layer_rows : comm::Talk::odd_layer_rows);
    exchange_ = std::make_unique<store::RowExchange>(
        comm, channel, store::RowExchange::Layout{ranges.starts, columns * sizeof(float)},
        [this](std::span<const VertexId> vertices, std::byte* out) {
            copy_rows(
                0, vertices.size(), columns_, [&](std::size_t i) { return own_row(vertices[i]); },
                out);
        });
}

void LayerInput::stop() {
    if (exchange_ != nullptr) exchange_->stop();
}

store::RemoteFetch LayerInput::fetch(std::span<const VertexId> ids, std::span<float> rows) const {
    std::vector<store::FetchRun> runs;
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
    return exchange_->fetch(runs, comm::Kind::evaluation);
}

std::shared_ptr<Array<float>> LayerInput::remote_rows(const ChunkedPart& part) const {
    const std::vector<VertexId> ids = part.remote_ids();
    std::shared_ptr<Array<float>> rows;
    fit(rows, ids.size() * columns_);
    store::RemoteFetch landing = fetch(ids, rows->span());
    landing.keep(rows);
    landing.wait();
    return rows;
}

void LayerInput::enter(const ChunkedPart& part, bool keep) {
    part_ = &part;
    keeps_ = keep && part.remote_count() > 0;
    if (store_ != nullptr && keeps_) {
        // Rows of the same host need no message: each chunk may read them again.
        const auto ids = part.remote_ids();
        keeps_ = std::ranges::any_of(ids, [&](VertexId v) { return !store_->local(v); });
    }
    if (!keeps_) return;
    placed_ = 0;
    places_.assign(part.remote_count(), ChunkedPart::nowhere);
    fit(kept_, part.remote_count() * columns_);
}

/// Gives kept rows that no chunk has read so far a place each, one after the other, and lists them
/// in the slot; the first of these places.
std::size_t LayerInput::place_fresh(ChunkSlot& slot) {
    const std::size_t first = placed_;
    const ExactChunk& chunk = slot.chunk;
    for (std::size_t i = chunk.here; i < chunk.sources.size(); ++i) {
        std::uint32_t& place = places_[part_->remote_index(chunk.sources[i])];
        if (place != ChunkedPart::nowhere) continue;
        place = placed_++;
        slot.ids.push_back(part_->part().global(chunk.sources[i]));
    }
    return first;
}

void LayerInput::begin(ChunkSlot& slot) {
    slot.pull.reset();
    slot.fetch = {};
    slot.ids.clear();
    slot.rows = slot.memory->span().subspan(0, slot.chunk.sources.size() * columns_);
    slot.read = slot.rows;
    store_ != nullptr ? begin_features(slot) : begin_rows(slot);
}

void LayerInput::begin_features(ChunkSlot& slot) {
    const ExactChunk& chunk = slot.chunk;
    const std::size_t count = keeps_ ? chunk.here : chunk.sources.size();
    slot.ids.resize(count);
    for (std::size_t i = 0; i < count; ++i)
        slot.ids[i] = part_->part().global(chunk.sources[i]);
    std::array<store::RowsWanted, 2> wanted{};
    if (keeps_) {
        const std::size_t place = place_fresh(slot);
        const std::size_t fresh = slot.ids.size() - count;
        wanted[1] = {std::span(slot.ids).subspan(count),
                     kept_->span().subspan(place * columns_, fresh * columns_), true};
    }
    wanted[0] = {std::span(slot.ids).subspan(0, count), slot.rows.subspan(0, count * columns_),
                 true};
    slot.pull.emplace(
        store_->pull(std::span(wanted).first(keeps_ ? 2 : 1), comm::Kind::evaluation));
}

void LayerInput::begin_rows(ChunkSlot& slot) {
    const ExactChunk& chunk = slot.chunk;
    const partition::Part& part = part_->part();
    if (chunk.sources.size() == part.own() && part.own() * columns_ == own_.size()) {
        slot.read = own_;  // all of them, in their order: there is no other part
        return;
    }
    // Asked for first: they travel while our own are copied.
    if (keeps_) {
        const std::size_t place = place_fresh(slot);
        slot.landing = kept_;
        slot.fetch = fetch(slot.ids, kept_->span().subspan(place * columns_));
    } else {
        slot.ids.resize(chunk.sources.size() - chunk.here);
        for (std::size_t i = 0; i < slot.ids.size(); ++i)
            slot.ids[i] = part.global(chunk.sources[chunk.here + i]);
        slot.landing = slot.memory;
        slot.fetch = fetch(slot.ids, slot.rows.subspan(chunk.here * columns_));
    }
    gather(
        chunk.here, columns_, [&](std::size_t i) { return own_row(part.global(chunk.sources[i])); },
        slot.rows.data());
}

void LayerInput::finish(ChunkSlot& slot) const {
    if (slot.pull) static_cast<void>(slot.pull->wait());
    slot.pull.reset();
    slot.fetch.wait();
    if (!keeps_) return;
    const ExactChunk& chunk = slot.chunk;
    gather(
        chunk.sources.size() - chunk.here, columns_,
        [&](std::size_t i) {
            const std::size_t index = part_->remote_index(chunk.sources[chunk.here + i]);
            return kept_->data() + places_[index] * columns_;
        },
        slot.rows.data() + chunk.here * columns_);
}

}  // namespace rudder::train
