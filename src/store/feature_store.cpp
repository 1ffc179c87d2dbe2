#include "feature_store.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "comm/together.hpp"
#include "core/span.hpp"
#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "row_kernels.hpp"
#include "store_core.hpp"

namespace rudder::store {

RowPlaces::RowPlaces(const comm::Communicator& comm, const partition::PartitionBook& book)
    : book_(book), parts_(book.parts()), ranks_(comm.size()) {
    const int here = comm.global_rank(comm.rank());
    for (PartId p = 0; p < book.parts(); ++p) {
        Place& place = parts_[p];
        place.rank = partition::rank_of(p, book.parts(), ranks_);
        place.on_host = comm.hosts().same(here, comm.global_rank(place.rank));
        if (place.rank == comm.rank()) own_.push_back(p);
        if (!place.on_host) continue;
        host_.push_back(p);
        place.host_row = host_rows_;
        host_rows_ += book.range(p).size();
    }
}

std::vector<VertexId> RowPlaces::rank_starts() const {
    std::vector<VertexId> starts;
    for (int r = 0; r < ranks_; ++r)
        starts.push_back(book_.range(partition::share_of(book_.parts(), ranks_, r).first).begin);
    starts.push_back(book_.vertices());
    return starts;
}

namespace {

constexpr comm::Channel row_channel = comm::channel_of(comm::Talk::feature_rows);
constexpr std::size_t chunk_rows = 1024;

void check_features(const partition::PartitionedDataset& data, const graph::DatasetInfo& info) {
    if (info.rows().present()) return;
    throw input_error("the data set has no features, so there is nothing to train on",
                      data.folder().manifest_path(),
                      "import or generate it with features (such as --features structure:64), "
                      "then partition it again; or learn rows (train --embeddings 64)");
}

/// Opens the parts whose files this rank reads: its own where it copies them, all of its host's
/// where it maps them.
std::vector<partition::Part> open_parts(const comm::Communicator& comm,
                                        const partition::PartitionedDataset& data,
                                        const std::vector<PartId>& ids) {
    std::vector<partition::Part> parts;
    comm::do_together(comm, [&] {
        for (const PartId p : ids) {
            parts.push_back(data.part(p));
            if (data.info().types.present()) parts.back().unify_rows();
        }
    });
    return parts;
}

/// Rows that lie beside learned ones are floats, perhaps of fewer columns; others stay zeroes.
void fill_beside_learned(const graph::FeatureView& rows, std::size_t row_bytes, std::byte* out) {
    if (!rows.info.present()) return;  // all are learned
    parallel_chunks(rows.rows, chunk_rows, [&](const Chunk& chunk) {
        std::vector<float> values(rows.info.width);
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            graph::decode_row(rows.info, rows.row(v), rows.scale, values);
            std::memcpy(out + v * row_bytes, values.data(), values.size() * sizeof(float));
        }
    });
}

/// Encodes the own parts' rows into the host's window, whose parts follow each other.
void fill_window(StoreCore& core) {
    const std::size_t row_bytes = core.format.row_bytes();
    for (const partition::Part& part : core.parts) {
        const graph::FeatureView rows = part.features();
        const VertexId first = part.range().begin;
        std::byte* out = core.window->data() + core.places.host_row(part.id()) * row_bytes;
        if (!core.learned.empty()) {
            fill_beside_learned(rows, row_bytes, out);
            continue;
        }
        parallel_chunks(rows.rows, chunk_rows, [&](const Chunk& chunk) {
            std::array<const std::byte*, chunk_rows> from{};
            std::array<VertexId, chunk_rows> vertices{};
            for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                from[i - chunk.begin] = rows.row(i).data();
                vertices[i - chunk.begin] = first + i;
            }
            const std::size_t count = chunk.end - chunk.begin;
            core.format.encode_rows({from.data(), count}, {vertices.data(), count},
                                    out + chunk.begin * row_bytes);
        });
    }
}

void place_in_window(StoreCore& core) {
    const std::size_t row_bytes = core.format.row_bytes();
    core.window = core.comm.share<std::byte>(
        checked_mul(core.places.host_rows(), row_bytes, "size of the host's feature rows"));
    comm::do_together(core.comm, [&] { fill_window(core); });
    for (const PartId p : core.places.host_parts())
        core.places.place(p, core.window->data() + core.places.host_row(p) * row_bytes);
    core.places.set_row_bytes(row_bytes);
    core.parts.clear();  // the window has it all: the files may go
}

void place_in_files(StoreCore& core) {
    for (const partition::Part& part : core.parts)
        core.places.place(part.id(), part.features().data);
    core.places.set_row_bytes(core.format.stored().row_bytes());
}

/// Moves steps to memory that the ranks of a host share. Collective.
ColumnSteps share_steps(const comm::Communicator& comm, ColumnSteps columns) {
    const auto window = comm.share<float>(columns.values.size());
    if (comm.host().rank() == 0) std::ranges::copy(columns.values, window->begin());
    comm.barrier();
    columns.values = *window;
    columns.memory = window;
    return columns;
}

/// Collective: what the whole data set holds, if its rows are to be sparse. All ranks decide alike.
std::optional<SparseUse> agree_on_sparse(const comm::Communicator& comm,
                                         const graph::FeatureInfo& stored,
                                         std::span<const partition::Part> own,
                                         const StoreOptions& options) {
    if (options.sparse == SparseChoice::off) return std::nullopt;
    NonZeros mine;
    for (const partition::Part& part : own)
        mine += count_for(part.features(), options.sparse);
    NonZeros all;
    for (const auto& rank : comm.all_gather(std::span<const NonZeros>(&mine, 1)))
        all += rank.front();
    return sparse_use(stored, all, options.sparse, options.assembled);
}

/// Whether sparse rows are so much shorter that a host keeps them beside the files.
bool half_as_long(const RowFormat& format) {
    return format.sparse() != nullptr && 2 * format.row_bytes() <= format.stored().row_bytes();
}

/// The format of a run's rows, and what it says of their columns.
struct ChosenFormat {
    RowFormat format;
    std::optional<ColumnError> outlier;
};

ChosenFormat choose_format(const comm::Communicator& comm,
                           const partition::PartitionedDataset& data,
                           const graph::DatasetInfo& info, std::span<const partition::Part> parts,
                           const StoreOptions& options) {
    const Precision precision = options.precision;
    const graph::FeatureInfo stored = info.rows();
    const auto scale = parts.front().features().scale;
    const auto sparse = agree_on_sparse(comm, stored, parts, options);
    if (sparse) return {RowFormat(stored, scale, precision, std::nullopt, sparse), {}};
    if (!quantises(stored, precision)) return {RowFormat(stored, scale, precision), {}};
    const Span span("ranges of columns");
    const AllRows rows{comm, data.book(), parts};
    const ColumnFacts facts = column_facts(rows, blocks_of(precision));
    const RowFormat format(
        stored, scale, precision,
        share_steps(comm, column_steps(facts, precision, data.folder().manifest_path())));
    return {format, find_outlier(rows, facts, format)};
}

/// The wire rows of own vertices; called by the service's task.
void write_rows(const StoreCore& core, std::span<const VertexId> vertices, std::byte* out) {
    constexpr std::size_t group = 256;
    std::array<const std::byte*, group> from{};
    const std::size_t row_bytes = core.format.row_bytes();
    for (std::size_t at = 0; at < vertices.size(); at += group) {
        const std::size_t count = std::min(group, vertices.size() - at);
        for (std::size_t i = 0; i < count; ++i) {
            const VertexId v = vertices[at + i];
            from[i] = core.places.row(core.places.book().owner(v), v);
        }
        const std::span rows(from.data(), count);
        if (core.in_wire_format) {
            pack_rows(rows, row_bytes, out + at * row_bytes);
        } else {
            core.format.encode_rows(rows, vertices.subspan(at, count), out + at * row_bytes);
        }
    }
}

/// What fills sparse rows up is left out where messages come into memory of their own anyway.
RowExchange::Layout wire_layout(const StoreCore& core, bool coded) {
    const RowFormat& format = core.format;
    RowExchange::Layout layout{
        .starts = core.places.rank_starts(),
        .row_bytes = format.row_bytes(),
        .element_bytes = std::max<std::size_t>(1, format.row_bytes() / format.width())};
    if (const SparseFormat* sparse = format.sparse(); coded && sparse != nullptr) {
        layout.used = [sparse](std::span<const std::byte> rows) {
            return sparse->used_bytes(rows);
        };
    }
    return layout;
}

}  // namespace

struct FeatureStore::State : StoreCore {
    std::optional<ColumnError> outlier;
};

FeatureStore::FeatureStore(const comm::Communicator& comm,
                           const partition::PartitionedDataset& data, const StoreOptions& options) {
    const graph::DatasetInfo info = with_learned(data.info(), options.learned);
    check_features(data, info);
    partition::check_ranks(comm.size(), data.parts());
    RowPlaces places(comm, data.book());
    auto parts = open_parts(comm, data, places.own_parts());
    const auto [format, outlier] = choose_format(comm, data, info, parts, options);
    LearnedSet learned(data, options.learned);
    // Learned rows are floats that change where they lie.
    RUDDER_CHECK(learned.empty() ||
                 (!rounds(options.precision) && format.sparse() == nullptr &&
                  info.rows().type == ElementType::f32 && !info.rows().row_normalise));
    const bool shared = options.shards == Shards::shared || half_as_long(format) ||
                        info.types.present() || !learned.empty();
    if (!shared) parts = open_parts(comm, data, places.host_parts());
    const VertexId host_rows = places.host_rows();
    // NOLINTNEXTLINE(modernize-make-unique): an aggregate with a monitor cannot be moved.
    state_.reset(new State{{.comm = comm,
                            .format = format,
                            .info = info,
                            .learned = std::move(learned),
                            .in_wire_format = shared || format.wire_is_stored(),
                            .places = std::move(places),
                            .parts = std::move(parts),
                            .window = nullptr,
                            .pool = ScratchPool(host_rows),
                            .exchange = nullptr,
                            .bulk = options.bulk},
                           outlier});
    shared ? place_in_window(*state_) : place_in_files(*state_);
    if (state_->places.host_parts().size() == data.parts()) return;  // nobody would ask
    state_->exchange = std::make_unique<RowExchange>(
        comm, row_channel, wire_layout(*state_, options.coder != nullptr),
        [core = state_.get()](std::span<const VertexId> vertices, std::byte* out) {
            write_rows(*core, vertices, out);
        },
        options.coder);
}

FeatureStore::~FeatureStore() = default;

const RowFormat& FeatureStore::format() const noexcept {
    return state_->format;
}

const graph::DatasetInfo& FeatureStore::info() const noexcept {
    return state_->info;
}

const LearnedSet& FeatureStore::learned() const noexcept {
    return state_->learned;
}

float* FeatureStore::learned_row(VertexId v) const {
    const RowPlaces& places = state_->places;
    const PartId part = places.part(v);
    RUDDER_CHECK_NORMAL(places.owner(part) == state_->comm.rank() && state_->learned.contains(v));
    const std::size_t at = places.host_row(part, v) * state_->format.row_bytes();
    return reinterpret_cast<float*>(state_->window->data() + at);
}

bool FeatureStore::local(VertexId v) const noexcept {
    return state_->places.local(state_->places.book().owner(v));
}

int FeatureStore::owner(VertexId v) const noexcept {
    return state_->places.owner(state_->places.book().owner(v));
}

Pull FeatureStore::pull(std::span<const RowsWanted> wanted, comm::Kind kind,
                        RowChoice choice) const {
    return begin_pull(*state_, wanted, kind, choice);
}

void FeatureStore::load_local(std::span<const RowsWanted> wanted) const {
    rudder::store::load_local(*state_, wanted);
}

RemoteFetch FeatureStore::fetch(std::span<const VertexId> vertices, std::span<std::byte> rows,
                                comm::Kind kind) const {
    const std::size_t row_bytes = state_->format.row_bytes();
    RUDDER_CHECK(rows.size() == vertices.size() * row_bytes);
    std::vector<FetchRun> runs;
    for (std::size_t at = 0; at < vertices.size();) {
        const int rank = owner(vertices[at]);
        RUDDER_CHECK(!local(vertices[at]));
        std::size_t end = at + 1;
        while (end < vertices.size() && owner(vertices[end]) == rank)
            ++end;
        runs.push_back({rank, vertices.subspan(at, end - at),
                        rows.subspan(at * row_bytes, (end - at) * row_bytes)});
        at = end;
    }
    if (runs.empty()) return {};
    if (kind == comm::Kind::requests_ahead && !demand_first()) kind = comm::Kind::requests;
    return state_->exchange->fetch(runs, kind, bulk());
}

void FeatureStore::set_bulk(std::uint64_t rows) noexcept {
    state_->bulk.store(rows, std::memory_order_relaxed);
}

std::uint64_t FeatureStore::bulk() const noexcept {
    return state_->bulk.load(std::memory_order_relaxed);
}

void FeatureStore::set_demand_first(bool first) noexcept {
    state_->demand_first.store(first, std::memory_order_relaxed);
}

bool FeatureStore::demand_first() const noexcept {
    return state_->demand_first.load(std::memory_order_relaxed);
}

std::uint64_t FeatureStore::bytes() const noexcept {
    const auto& steps = state_->format.steps();
    return (state_->window == nullptr ? 0 : state_->window->size()) +
           (steps ? steps->values.size_bytes() : 0);
}

const std::optional<ColumnError>& FeatureStore::outlier() const noexcept {
    return state_->outlier;
}

void FeatureStore::stop() {
    state_->comm.barrier();
    if (state_->exchange != nullptr) state_->exchange->stop();
}

}  // namespace rudder::store
