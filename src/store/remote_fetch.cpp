#include "remote_fetch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::store {

namespace {

/// An answer at most: small enough that several owners take turns on the wire, large enough that
/// messages cost little.
constexpr std::size_t piece_bytes = std::size_t{256} << 10;

/// Vertices as positions in a rank's range that begins there.
template <class Id>
void write_positions(std::span<const VertexId> vertices, VertexId begin,
                     comm::Service::Bytes& bytes) {
    bytes.resize(vertices.size() * sizeof(Id));
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        const auto position = static_cast<Id>(vertices[i] - begin);
        std::memcpy(bytes.data() + i * sizeof(Id), &position, sizeof(Id));
    }
}

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
    int rank;

    [[nodiscard]] VertexId begin(int r) const { return layout.starts[static_cast<std::size_t>(r)]; }
    [[nodiscard]] VertexId end(int r) const {
        return layout.starts[static_cast<std::size_t>(r) + 1];
    }
    [[nodiscard]] std::size_t id_bytes(int r) const noexcept {
        const bool narrow = end(r) - begin(r) <= std::numeric_limits<std::uint32_t>::max();
        return narrow ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
    }

    void answer(int from, std::span<const std::byte> ids, comm::Service::Answer& out) const {
        id_bytes(rank) == sizeof(std::uint32_t) ? write_rows<std::uint32_t>(from, ids, out)
                                                : write_rows<std::uint64_t>(from, ids, out);
    }

    /// On all threads.
    template <class Id>
    void write_rows(int from, std::span<const std::byte> ids, comm::Service::Answer& out) const {
        constexpr std::size_t group = 256;
        const std::size_t count = ids.size() / sizeof(Id);
        const VertexId own = end(rank) - begin(rank);
        out.resize(count * layout.row_bytes);
        parallel_chunks(count, group, [&](const Chunk& chunk) {
            std::array<VertexId, group> vertices{};
            const std::size_t some = chunk.end - chunk.begin;
            for (std::size_t i = 0; i < some; ++i) {
                Id position = 0;
                std::memcpy(&position, ids.data() + (chunk.begin + i) * sizeof(Id), sizeof(Id));
                if (position >= own) refuse(from, position, own);
                vertices[i] = begin(rank) + position;
            }
            writer({vertices.data(), some}, out.data() + chunk.begin * layout.row_bytes);
        });
    }

    [[noreturn]] static void refuse(int from, VertexId position, VertexId own) {
        throw Error(
            ErrorKind::rank,
            fmt::format("invalid request: row {} of a rank that has {} rows", position, own),
            fmt::format("rank {}", from),
            "the ranks disagree about the partition; give all of them the same", from);
    }
};

RowExchange::RowExchange(const comm::Communicator& comm, comm::Channel channel, Layout layout,
                         Writer writer)
    : rank_(comm.rank()) {
    RUDDER_CHECK(layout.starts.size() == static_cast<std::size_t>(comm.size()) + 1);
    state_ = std::make_shared<const State>(
        State{.layout = std::move(layout), .writer = std::move(writer), .rank = rank_});
    service_ = std::make_unique<comm::Service>(
        comm, channel,
        [state = state_](int from, std::span<const std::byte> question,
                         comm::Service::Answer& out) { state->answer(from, question, out); });
}

std::size_t RowExchange::id_bytes(int owner) const noexcept {
    return state_->id_bytes(owner);
}

void RowExchange::ask(const FetchRun& run, RemoteFetch::Piece& piece, comm::Kind kind) const {
    const auto vertices = run.vertices.subspan(piece.first, piece.count);
    const VertexId begin = state_->begin(run.owner);
    const std::shared_ptr<comm::Service::Bytes> question = service_->memory();
    id_bytes(run.owner) == sizeof(std::uint32_t)
        ? write_positions<std::uint32_t>(vertices, begin, *question)
        : write_positions<std::uint64_t>(vertices, begin, *question);
    const std::size_t row_bytes = state_->layout.row_bytes;
    piece.landed =
        service_->ask(run.owner, kind, question,
                      run.rows.subspan(piece.first * row_bytes, piece.count * row_bytes));
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
