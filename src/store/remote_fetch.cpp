#include "remote_fetch.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/packed_ids.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::store {

namespace {

/// An answer at most: small enough that several owners take turns on the wire, large enough that
/// messages cost little.
constexpr std::size_t piece_bytes = std::size_t{256} << 10;

}  // namespace

// ---- fetches -----------------------------------------------------------------------------------

void RemoteFetch::wait() {
    for (Piece& piece : pieces_)
        piece.landed.wait();
}

bool RemoteFetch::done() const {
    return std::ranges::all_of(pieces_, [](const Piece& piece) { return piece.landed.done(); });
}

void RemoteFetch::keep(const std::shared_ptr<const void>& memory) const {
    for (const Piece& piece : pieces_) {
        if (piece.landed.done()) continue;
        piece.landed.then([memory](const std::exception_ptr&) { /* held until now */ });
    }
}

// ---- asking and answering ----------------------------------------------------------------------

struct RowExchange::State {
    Layout layout;
    Writer writer;
    std::shared_ptr<comm::MessageCoder> coder;
    int rank;
    RawVector<VertexId> asked = {};    ///< of the service's task
    RawVector<std::byte> filled = {};  ///< likewise: rows before what fills them up goes

    [[nodiscard]] VertexId begin(int r) const { return layout.starts[static_cast<std::size_t>(r)]; }
    [[nodiscard]] VertexId own() const {
        return layout.starts[static_cast<std::size_t>(rank) + 1] - begin(rank);
    }

    void answer(int from, std::span<const std::byte> question, comm::Service::Answer& out) {
        if (!unpack_ids(question, begin(rank), own(), asked)) refuse(from, question);
        const std::size_t head = coder == nullptr ? 0 : 1;
        const std::size_t bytes = asked.size() * layout.row_bytes;
        out.resize(head + bytes);
        if (layout.used) {
            filled.resize(bytes);
            write_rows(filled.data());
            out.resize(head + trim(out.data() + head));
        } else {
            write_rows(out.data() + head);
        }
        if (coder != nullptr) coder->encode(out, layout.element_bytes);
    }

    /// On all threads.
    void write_rows(std::byte* out) const {
        constexpr std::size_t group = 256;
        parallel_chunks(asked.size(), group, [&](const Chunk& chunk) {
            writer(std::span(asked).subspan(chunk.begin, chunk.end - chunk.begin),
                   out + chunk.begin * layout.row_bytes);
        });
    }

    /// Copies what rows take, one after the other; how many bytes that is.
    std::size_t trim(std::byte* out) const {
        std::byte* end = out;
        for (std::size_t at = 0; at < filled.size(); at += layout.row_bytes) {
            const std::span row = std::span(filled).subspan(at, layout.row_bytes);
            end = std::copy_n(row.begin(), layout.used(row).value(), end);
        }
        return static_cast<std::size_t>(end - out);
    }

    /// The way back: fills rows up again.
    void fill_up(int from, std::span<const std::byte> trimmed, std::span<std::byte> rows) const {
        for (; !rows.empty(); rows = rows.subspan(layout.row_bytes)) {
            const std::optional<std::size_t> used = layout.used(trimmed);
            if (!used) refuse_rows(from);
            const auto rest = std::ranges::copy(trimmed.first(*used), rows.begin()).out;
            std::fill(rest, rows.begin() + static_cast<std::ptrdiff_t>(layout.row_bytes),
                      std::byte{0});
            trimmed = trimmed.subspan(*used);
        }
        if (!trimmed.empty()) refuse_rows(from);
    }

    comm::CodedBytes place(int from, const comm::Message& came, std::span<std::byte> rows) const {
        if (coder == nullptr) {
            fill_up(from, came.bytes, rows);
            return {};
        }
        comm::MessageCoder::Bytes plain;
        const comm::CodedBytes counted = coder->decode_any(came, from, plain);
        fill_up(from, plain, rows);
        return counted;
    }

    [[noreturn]] static void refuse_rows(int from) {
        throw Error(ErrorKind::rank, "invalid message: not the sparse rows that were asked for",
                    fmt::format("rank {}", from),
                    "the ranks disagree about the data set; give all of them the same", from);
    }

    [[noreturn]] void refuse(int from, std::span<const std::byte> question) {
        std::string problem = "invalid request: a list of rows that cannot be read";
        if (unpack_ids(question, 0, std::numeric_limits<VertexId>::max(), asked)) {
            problem = fmt::format(
                "invalid request: row {} of a rank that has {} rows",
                *std::ranges::find_if(asked, [&](VertexId v) { return v >= own(); }), own());
        }
        throw Error(ErrorKind::rank, problem, fmt::format("rank {}", from),
                    "the ranks disagree about the partition; give all of them the same", from);
    }
};

RowExchange::RowExchange(const comm::Communicator& comm, comm::Channel channel, Layout layout,
                         Writer writer, std::shared_ptr<comm::MessageCoder> coder)
    : comm_(comm), rank_(comm.rank()) {
    RUDDER_CHECK(layout.starts.size() == static_cast<std::size_t>(comm.size()) + 1);
    state_ = std::make_shared<State>(State{.layout = std::move(layout),
                                           .writer = std::move(writer),
                                           .coder = std::move(coder),
                                           .rank = rank_});
    service_ = std::make_unique<comm::Service>(
        comm, channel,
        [state = state_](int from, std::span<const std::byte> question,
                         comm::Service::Answer& out) { state->answer(from, question, out); });
}

void RowExchange::ask(const FetchRun& run, RemoteFetch::Piece& piece, comm::Kind kind) const {
    const std::shared_ptr<comm::Service::Bytes> question = service_->memory();
    pack_ids(run.vertices.subspan(piece.first, piece.count), state_->begin(run.owner), *question);
    const std::size_t row_bytes = state_->layout.row_bytes;
    const auto rows = run.rows.subspan(piece.first * row_bytes, piece.count * row_bytes);
    if (state_->layout.used) {
        piece.landed = comm::place_message(
            comm_, service_->ask_message(run.owner, kind, question), run.owner, rows.size(),
            [state = state_, from = run.owner, rows](const comm::Message& came) {
                return state->place(from, came, rows);
            });
        return;
    }
    piece.landed =
        state_->coder == nullptr
            ? service_->ask(run.owner, kind, question, rows)
            : comm::place_decoded(comm_, service_->ask_message(run.owner, kind, question),
                                  run.owner, state_->coder, rows);
}

RemoteFetch RowExchange::fetch(std::span<const FetchRun> runs, comm::Kind kind,
                               std::uint64_t bulk) const {
    // No run is longer than 32 bits can count, so that sums of steps do not overflow.
    const std::size_t step =
        bulk != 0 ? std::min<std::size_t>(bulk, std::numeric_limits<std::uint32_t>::max())
                  : std::max<std::size_t>(1, piece_bytes / state_->layout.row_bytes);
    RemoteFetch fetch;
    // Each rank begins with another owner, so that not all of them ask the same one first.
    std::size_t first_run = 0;
    while (first_run < runs.size() && runs[first_run].owner < rank_)
        ++first_run;
    for (std::size_t at = 0, left = runs.size(); left > 0; at += step) {
        left = 0;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const std::size_t run = (first_run + i) % runs.size();
            const std::size_t count = runs[run].vertices.size();
            RUDDER_CHECK(runs[run].rows.size() == count * state_->layout.row_bytes);
            if (at >= count) continue;
            auto& piece = fetch.pieces_.emplace_back();
            piece.run = run;
            piece.first = at;
            piece.count = std::min(step, count - at);
            ask(runs[run], piece, kind);
            if (at + step < count) ++left;
        }
    }
    return fetch;
}

}  // namespace rudder::store
