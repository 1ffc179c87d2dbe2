// A pull: every id is looked at once (whose is it, was it there before), other hosts are asked, own
// rows are turned into floats meanwhile, and what lands is put in place.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "rudder/core/parallel.hpp"

#include "store_core.hpp"

namespace rudder::store {

namespace {

/// Rows per chunk of a loop, and per call of a loader.
constexpr std::size_t pull_chunk_rows = 512;
constexpr std::size_t group_rows = 128;
/// Ids per chunk of the loop that only looks whose they are.
constexpr std::size_t list_chunk_rows = 4096;

/// Rows of several batches, numbered through.
class Numbered {
public:
    Numbered(std::span<const RowsWanted> wanted, const LearnedSet& learned, RowChoice choice)
        : wanted_(wanted),
          learned_(learned),
          choice_(learned.empty() && choice == RowChoice::given ? RowChoice::all : choice) {
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

    /// Whether all of them are walked.
    [[nodiscard]] bool all() const noexcept { return choice_ == RowChoice::all; }

    /// Calls `f(vertex, place)` for the rows [begin, end), but for those that are not of the
    /// choice.
    template <class F>
    void walk(std::size_t begin, std::size_t end, std::size_t row_floats, F&& f) const {
        const auto after = std::ranges::upper_bound(starts_, begin);
        auto batch = static_cast<std::size_t>(after - starts_.begin()) - 1;
        for (std::size_t at = begin; at < end; ++batch) {
            const std::size_t skip = at - starts_[batch];
            const auto vertices = wanted_[batch].vertices;
            const std::size_t count = std::min(vertices.size() - skip, end - at);
            float* place = wanted_[batch].rows.data() + skip * row_floats;
            if (all()) {
                for (std::size_t i = 0; i < count; ++i, place += row_floats)
                    f(vertices[skip + i], place);
            } else {
                for (std::size_t i = 0; i < count; ++i, place += row_floats) {
                    if (!learned_.leaves_out(choice_, vertices[skip + i]))
                        f(vertices[skip + i], place);
                }
            }
            at += count;
        }
    }

private:
    std::span<const RowsWanted> wanted_;
    const LearnedSet& learned_;
    RowChoice choice_;
    std::vector<std::size_t> starts_;
    std::size_t total_ = 0;
};

/// Lists the rows of other hosts where no vertex comes twice: on all threads.
void list_distinct(const StoreCore& core, const Numbered& rows, PullScratch& scratch,
                   Pulled& accounts) {
    const RowPlaces& places = core.places;
    std::atomic<std::uint64_t> remote{0};
    std::atomic<std::uint64_t> left_out{0};
    scratch.wanted.begin(chunk_count(rows.total(), list_chunk_rows),
                         static_cast<std::size_t>(core.comm.size()));
    parallel_chunks(rows.total(), list_chunk_rows, [&](const Chunk& chunk) {
        auto& wanted = scratch.wanted.part(chunk.index);
        std::size_t walked = 0;
        rows.walk(chunk.begin, chunk.end, core.format.row_floats(), [&](VertexId v, float* place) {
            const PartId part = places.part(v);
            if (!places.local(part)) wanted.add({v, place, places.owner(part)});
            ++walked;
        });
        remote += wanted.size();
        left_out += chunk.end - chunk.begin - walked;
    });
    accounts.rows.local = rows.total() - remote - left_out;
}

/// The same where vertices may: the first use of each counts, the others are copied from there.
void list_repeated(const StoreCore& core, const Numbered& rows, PullScratch& scratch,
                   Pulled& accounts) {
    const RowPlaces& places = core.places;
    scratch.wanted.begin(1, static_cast<std::size_t>(core.comm.size()));
    if (core.exchange != nullptr) scratch.first.reset(rows.total());
    rows.walk(0, rows.total(), core.format.row_floats(), [&](VertexId v, float* place) {
        const PartId part = places.part(v);
        if (places.local(part)) {
            const bool fresh = scratch.seen.insert(places.host_row(part, v));
            ++(fresh ? accounts.rows.local : accounts.rows.saved);
            return;
        }
        if (const float* first = scratch.first.insert(v, place); first != place) {
            scratch.repeats.push_back({first, place});
        } else {
            scratch.wanted.part(0).add({v, place, places.owner(part)});
        }
    });
    accounts.rows.saved += scratch.repeats.size();
}

/// Counts every row, and lists those of other hosts.
void classify(const StoreCore& core, const Numbered& rows, PullScratch& scratch, Pulled& accounts) {
    if (!rows.distinct()) {
        list_repeated(core, rows, scratch, accounts);
    } else if (core.exchange != nullptr || !rows.all()) {
        list_distinct(core, rows, scratch, accounts);
    } else {
        scratch.wanted.begin(0, static_cast<std::size_t>(core.comm.size()));
        accounts.rows.local = rows.total();
    }
}

/// Asks for what other hosts have; accounts for it.
RemoteFetch ask(const StoreCore& core, PullScratch& scratch, Pulled& accounts, comm::Kind kind,
                std::vector<FetchRun>& runs) {
    const std::size_t row_bytes = core.format.row_bytes();
    accounts.bytes_by_owner.assign(static_cast<std::size_t>(core.comm.size()), 0);
    scratch.order(row_bytes, accounts.bytes_by_owner);  // rows, at first
    std::size_t at = 0;
    for (std::size_t r = 0; r < accounts.bytes_by_owner.size(); ++r) {
        const std::size_t count = accounts.bytes_by_owner[r];
        if (count == 0) continue;
        runs.push_back({static_cast<int>(r), std::span(scratch.vertices).subspan(at, count),
                        scratch.landing.span().subspan(at * row_bytes, count * row_bytes)});
        at += count;
        accounts.bytes_by_owner[r] = count * row_bytes;
    }
    accounts.rows.demand = at;
    accounts.rows.needed = accounts.rows.local + accounts.rows.demand;
    if (runs.empty()) return {};
    return core.exchange->fetch(runs, kind, core.bulk.load(std::memory_order_relaxed));
}

/// Rows of this host, on all threads.
void gather(const StoreCore& core, const Numbered& rows) {
    const RowPlaces& places = core.places;
    parallel_chunks(rows.total(), pull_chunk_rows, [&](const Chunk& chunk) {
        std::array<const std::byte*, group_rows> from{};
        std::array<VertexId, group_rows> vertices{};
        std::array<float*, group_rows> to{};
        std::size_t count = 0;
        const auto flush = [&] {
            core.load({from.data(), count}, {vertices.data(), count}, to.data());
            count = 0;
        };
        rows.walk(chunk.begin, chunk.end, core.format.row_floats(), [&](VertexId v, float* place) {
            const PartId part = places.part(v);
            if (!places.local(part)) return;
            from[count] = places.row(part, v);
            vertices[count] = v;
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
            accounts.received += piece.landed.counted();
            decode(piece);
        }
        parallel_chunks(scratch->repeats.size(), pull_chunk_rows, [&](const Chunk& chunk) {
            const std::size_t bytes = core->format.row_floats() * sizeof(float);
            for (std::size_t i = chunk.begin; i < chunk.end; ++i)
                std::memcpy(scratch->repeats[i].to, scratch->repeats[i].from, bytes);
        });
        core->pool.give_back(std::move(scratch));
        scratch = nullptr;
    }

    void decode(const RemoteFetch::Piece& piece) const {
        const FetchRun& run = runs[piece.run];
        float* const* places =
            scratch->places.data() + (run.vertices.data() - scratch->vertices.data());
        const std::size_t row_bytes = core->format.row_bytes();
        parallel_chunks(piece.count, pull_chunk_rows, [&](const Chunk& chunk) {
            std::array<const std::byte*, pull_chunk_rows> from{};
            const std::size_t first = piece.first + chunk.begin;
            const std::size_t count = chunk.end - chunk.begin;
            for (std::size_t i = 0; i < count; ++i)
                from[i] = run.rows.data() + (first + i) * row_bytes;
            core->format.decode_rows({from.data(), count}, run.vertices.subspan(first, count),
                                     places + first);
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

Pull begin_pull(StoreCore& core, std::span<const RowsWanted> wanted, comm::Kind kind,
                RowChoice choice) {
    RUDDER_CHECK(kind == comm::Kind::requests || kind == comm::Kind::evaluation);
    for (const RowsWanted& batch : wanted)
        RUDDER_CHECK(batch.rows.size() == batch.vertices.size() * core.format.row_floats());
    const Numbered rows(wanted, core.learned, choice);
    auto state = std::make_unique<Pull::State>(core, core.pool.take());
    classify(core, rows, *state->scratch, state->accounts);
    state->fetch = ask(core, *state->scratch, state->accounts, kind, state->runs);
    gather(core, rows);
    return Pull(std::move(state));
}

void load_local(const StoreCore& core, std::span<const RowsWanted> wanted) {
    for (const RowsWanted& batch : wanted)
        RUDDER_CHECK(batch.rows.size() == batch.vertices.size() * core.format.row_floats());
    gather(core, Numbered(wanted, core.learned, RowChoice::given));
}

}  // namespace rudder::store
