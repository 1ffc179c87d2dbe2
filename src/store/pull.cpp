// A pull: every id is looked at once (whose is it, was it there before), other hosts are asked, own
// rows are turned into floats meanwhile, and what lands is put in place.
#include <algorithm>
#include <array>
#include <cstring>

#include "rudder/core/parallel.hpp"

#include "store_core.hpp"

namespace rudder::store {

namespace {

/// Rows per chunk of a loop, and per call of a loader.
constexpr std::size_t pull_chunk_rows = 512;
constexpr std::size_t group_rows = 128;

/// Rows of several batches, numbered through.
class Numbered {
public:
    explicit Numbered(std::span<const RowsWanted> wanted) : wanted_(wanted) {
        for (const RowsWanted& batch : wanted) {
            starts_.push_back(total_);
            total_ += batch.vertices.size();
        }
    }
    [[nodiscard]] std::size_t total() const noexcept { return total_; }
    /// No vertex is there twice.
    [[nodiscard]] bool distinct() const noexcept {
        return wanted_.size() == 1 && wanted_.front().distinct;
    }

    /// Calls `f(vertex, place)` for the rows [begin, end).
    template <class F>
    void walk(std::size_t begin, std::size_t end, std::size_t width, F&& f) const {
        const auto after = std::ranges::upper_bound(starts_, begin);
        auto batch = static_cast<std::size_t>(after - starts_.begin()) - 1;
        for (std::size_t at = begin; at < end; ++batch) {
            const std::size_t skip = at - starts_[batch];
            const auto vertices = wanted_[batch].vertices;
            const std::size_t count = std::min(vertices.size() - skip, end - at);
            float* place = wanted_[batch].rows.data() + skip * width;
            for (std::size_t i = 0; i < count; ++i, place += width)
                f(vertices[skip + i], place);
            at += count;
        }
    }

private:
    std::span<const RowsWanted> wanted_;
    std::vector<std::size_t> starts_;
    std::size_t total_ = 0;
};

/// Counts every row, and lists those of other hosts by owner.
void classify(const StoreCore& core, const Numbered& rows, PullScratch& scratch, Pulled& accounts) {
    const RowPlaces& places = core.places;
    const partition::PartitionBook& book = places.book();
    const bool distinct = rows.distinct();
    if (!distinct && places.host_parts().size() < book.parts()) scratch.places.reset(rows.total());
    rows.walk(0, rows.total(), core.format.width(), [&](VertexId v, float* place) {
        RUDDER_CHECK_NORMAL(v < book.vertices());
        const PartId part = book.owner(v);
        if (places.local(part)) {
            const bool fresh = distinct || scratch.seen.insert(places.host_row(part, v));
            ++(fresh ? accounts.rows.local : accounts.rows.saved);
            return;
        }
        const float* first = distinct ? place : scratch.places.insert(v, place);
        if (first != place) {
            scratch.repeats.push_back({first, place});
            return;
        }
        OwnerRows& owner = scratch.owners[static_cast<std::size_t>(places.owner(part))];
        owner.vertices.push_back(v);
        owner.places.push_back(place);
    });
    accounts.rows.saved += scratch.repeats.size();
}

/// Asks for what other hosts have; accounts for it.
RemoteFetch ask(const StoreCore& core, PullScratch& scratch, Pulled& accounts, comm::Kind kind,
                std::vector<FetchRun>& runs) {
    scratch.land(core.format.row_bytes());
    accounts.bytes_by_owner.assign(scratch.owners.size(), 0);
    for (std::size_t r = 0; r < scratch.owners.size(); ++r) {
        const OwnerRows& owner = scratch.owners[r];
        if (owner.vertices.empty()) continue;
        accounts.rows.demand += owner.vertices.size();
        accounts.bytes_by_owner[r] = owner.landing.size();
        runs.push_back({static_cast<int>(r), owner.vertices, owner.landing});
    }
    accounts.rows.needed = accounts.rows.local + accounts.rows.demand;
    if (runs.empty()) return {};
    return core.exchange->fetch(runs, kind, core.bulk.load(std::memory_order_relaxed));
}

/// Rows of this host, on all threads.
void gather(const StoreCore& core, const Numbered& rows) {
    const RowPlaces& places = core.places;
    parallel_chunks(rows.total(), pull_chunk_rows, [&](const Chunk& chunk) {
        std::array<const std::byte*, group_rows> from{};
        std::array<float*, group_rows> to{};
        std::size_t count = 0;
        const auto flush = [&] {
            core.load({from.data(), count}, to.data());
            count = 0;
        };
        rows.walk(chunk.begin, chunk.end, core.format.width(), [&](VertexId v, float* place) {
            const PartId part = places.book().owner(v);
            if (!places.local(part)) return;
            from[count] = places.row(part, v);
            to[count] = place;
            if (++count == group_rows) flush();
        });
        flush();
    });
}

}  // namespace

struct Pull::State {
    StoreCore* core;
    std::shared_ptr<PullScratch> scratch;
    std::vector<FetchRun> runs;
    RemoteFetch fetch;
    Pulled accounts;

    State(StoreCore& store, std::shared_ptr<PullScratch> with)
        : core(&store), scratch(std::move(with)) {}
    State(State&&) = delete;
    /// Rows that nobody waits for any more still land somewhere.
    ~State() {
        if (scratch != nullptr) fetch.keep(scratch);
    }

    void finish() {
        for (RemoteFetch::Piece& piece : fetch.pieces()) {
            piece.landed.wait();
            decode(piece);
        }
        parallel_chunks(scratch->repeats.size(), pull_chunk_rows, [&](const Chunk& chunk) {
            const std::size_t bytes = core->format.width() * sizeof(float);
            for (std::size_t i = chunk.begin; i < chunk.end; ++i)
                std::memcpy(scratch->repeats[i].to, scratch->repeats[i].from, bytes);
        });
        core->pool.give_back(std::move(scratch));
        scratch = nullptr;
    }

    void decode(const RemoteFetch::Piece& piece) const {
        const FetchRun& run = runs[piece.run];
        const OwnerRows& owner = scratch->owners[static_cast<std::size_t>(run.owner)];
        const std::size_t row_bytes = core->format.row_bytes();
        parallel_chunks(piece.count, pull_chunk_rows, [&](const Chunk& chunk) {
            std::array<const std::byte*, pull_chunk_rows> from{};
            const std::size_t first = piece.first + chunk.begin;
            const std::size_t count = chunk.end - chunk.begin;
            for (std::size_t i = 0; i < count; ++i)
                from[i] = run.rows.data() + (first + i) * row_bytes;
            core->format.decode_rows({from.data(), count}, owner.places.data() + first);
        });
    }
};

Pull::Pull(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pull::Pull(Pull&&) noexcept = default;
Pull& Pull::operator=(Pull&&) noexcept = default;
Pull::~Pull() = default;

const Pulled& Pull::wait() {
    if (state_->scratch != nullptr) state_->finish();
    return state_->accounts;
}

bool Pull::done() const {
    return state_->scratch == nullptr || state_->fetch.done();
}

Pull begin_pull(StoreCore& core, std::span<const RowsWanted> wanted, comm::Kind kind) {
    RUDDER_CHECK(kind == comm::Kind::requests || kind == comm::Kind::evaluation);
    for (const RowsWanted& batch : wanted)
        RUDDER_CHECK(batch.rows.size() == batch.vertices.size() * core.format.width());
    const Numbered rows(wanted);
    auto state = std::make_unique<Pull::State>(core, core.pool.take());
    classify(core, rows, *state->scratch, state->accounts);
    state->fetch = ask(core, *state->scratch, state->accounts, kind, state->runs);
    gather(core, rows);
    return Pull(std::move(state));
}

void load_local(const StoreCore& core, std::span<const RowsWanted> wanted) {
    for (const RowsWanted& batch : wanted)
        RUDDER_CHECK(batch.rows.size() == batch.vertices.size() * core.format.width());
    gather(core, Numbered(wanted));
}

}  // namespace rudder::store
