// Rows of other ranks on their way here, in the wire's format; and the service that sends them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/message_coder.hpp"
#include "comm/service.hpp"
#include "rudder/core/types.hpp"

namespace rudder::store {

/// Rows that one other rank holds, and where they land: one after the other, in this order.
struct FetchRun {
    int owner = 0;
    std::span<const VertexId> vertices;
    std::span<std::byte> rows;
};

/// Wire rows under way, in pieces. Where they land must stay until all pieces have landed, even if
/// nobody waits for them any more: `keep` sees to it.
class RemoteFetch {
public:
    /// Some rows of a run: positions [first, first + count) of its vertices.
    struct Piece {
        std::size_t run = 0;
        std::size_t first = 0;
        std::size_t count = 0;
        comm::Request landed;
    };

    /// In the order in which they were asked for, and in about which they land.
    [[nodiscard]] std::span<Piece> pieces() noexcept { return pieces_; }
    /// Waits for all of them.
    void wait();
    [[nodiscard]] bool done() const;
    /// Holds `memory` until the last piece has landed.
    void keep(const std::shared_ptr<const void>& memory) const;

private:
    friend class RowExchange;
    std::vector<Piece> pieces_;
};

/// One rank's side of the exchange of rows: asks others, and answers them in a task of its own.
class RowExchange {
public:
    /// Which rank holds which contiguous range of vertices, and how long a row is on the wire.
    struct Layout {
        std::vector<VertexId> starts;  ///< of each rank's range, and the end: ranks + 1 numbers
        std::size_t row_bytes = 0;
        std::size_t element_bytes = 1;  ///< of the numbers in a row
        /// Of rows that are filled up with zeros to one length: the bytes that the first row of
        /// some takes without them, nothing if there is none. Rows then travel without.
        std::function<std::optional<std::size_t>(std::span<const std::byte> rows)> used = {};
    };
    /// Writes the wire rows of own vertices to `out`, one after the other; called by several
    /// threads at once. Must not throw.
    using Writer = std::function<void(std::span<const VertexId> vertices, std::byte* out)>;

    /// Takes `channel` and the next ones (comm::service_channels in all). Where all ranks have a
    /// `coder`, answers are written by it, and come into memory of their own before their rows are
    /// put into place.
    RowExchange(const comm::Communicator& comm, comm::Channel channel, Layout layout, Writer writer,
                std::shared_ptr<comm::MessageCoder> coder = nullptr);

    /// Asks for all runs at once, in pieces of `bulk` rows (0: of about 256 KiB) so that the
    /// answers of several ranks interleave. Owners are other ranks. Questions have `kind`; ids
    /// travel as positions in their owner's range, packed (core/packed_ids): in any order, but
    /// ascending ones are shortest. Safe from any task.
    [[nodiscard]] RemoteFetch fetch(std::span<const FetchRun> runs, comm::Kind kind,
                                    std::uint64_t bulk = 0) const;
    /// Ends the task; no rank may ask any more.
    void stop() { service_->stop(); }

private:
    struct State;
    void ask(const FetchRun& run, RemoteFetch::Piece& piece, comm::Kind kind) const;

    std::shared_ptr<State> state_;
    comm::Communicator comm_;
    int rank_;
    std::unique_ptr<comm::Service> service_;
};

}  // namespace rudder::store
