// Where neighbours are drawn: in a topology that the host holds whole, or by each vertex's owner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "comm/message_coder.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/random.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/features.hpp"
#include "rudder/graph/topology.hpp"
#include "rudder/partition/book.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/sample/batch.hpp"

namespace rudder::sample {

struct SharedMemory;
struct SplitDraw;
struct MessageRows;

/// Neighbours that the first vertices of a request are drawn without, as if their rows did not have
/// them: of vertex i, neighbours[offsets[i]] up to neighbours[offsets[i + 1]], in ascending order.
/// Vertices beyond the offsets keep all of theirs.
struct LeftOut {
    std::span<const std::uint32_t> offsets{};
    std::span<const VertexId> neighbours{};

    [[nodiscard]] bool none() const noexcept { return neighbours.empty(); }
    [[nodiscard]] std::span<const VertexId> of(std::size_t i) const noexcept {
        if (i + 1 >= offsets.size()) return {};
        return neighbours.subspan(offsets[i], offsets[i + 1] - offsets[i]);
    }
};

/// Neighbours to draw: `fanout` of each vertex (-1: all), from the stream of `key`, which is that
/// of one layer of one step.
struct DrawRequest {
    StreamKey key;
    std::span<const VertexId> vertices;
    std::int32_t fanout = -1;
    bool with_replacement = false;
    Sampler sampler = Sampler::plain;
    std::uint64_t redraw = 1;  ///< steps between a vertex's numbers, where they are shared
    comm::Kind kind = comm::Kind::topology;  ///< of the messages, where there are any
    bool weighted = false;                   ///< by the edges' weights; gives shares
    bool features = false;                   ///< gives the rows of features that edges have
    Temporal temporal = Temporal::off;
    /// Unless that is off: each vertex sees edges before its time alone.
    std::span<const std::int64_t> times{};
    LeftOut left_out{};  ///< not beside what edges carry
    /// Draw among edges of this type alone; the source must hold types.
    std::optional<std::uint8_t> type{};

    /// Whether what edges carry is looked at.
    [[nodiscard]] bool carried() const noexcept {
        return weighted || features || temporal != Temporal::off;
    }
};

/// What of the data that edges carry a source holds; requests can ask for no more.
struct SourceCarries {
    bool weights = false;
    bool times = false;  ///< rows are then in the order of time
    bool types = false;  ///< rows are then in the order of type, and of one type in that of time
    graph::FeatureInfo features{};  ///< as they are stored; no columns: none

    /// For each edge.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return (weights ? sizeof(float) : 0) + (times ? sizeof(std::int64_t) : 0) +
               (types ? sizeof(std::uint8_t) : 0) + features.row_bytes();
    }
};

/// What was drawn: ids[offsets[i]] up to ids[offsets[i + 1]] for vertex i, global ids: `narrow`
/// where those of the whole graph fit 32 bits, `wide` where not. All of a row in its order where
/// its degree is at most the fan-out, else as drawn (in its order, too, where numbers are shared or
/// what edges carry is looked at).
/// With replacement every row that is not empty gives as many as the fan-out, however short it is.
struct DrawnNeighbours {
    RawVector<std::uint32_t> offsets;
    RawVector<std::uint32_t> narrow;
    RawVector<VertexId> wide;
    RawVector<float> shares;  ///< as of Block, by id; empty unless weights were asked for
    /// Rows of edges as they are stored, by id; empty unless they were asked for.
    RawVector<std::byte> features;
    std::shared_ptr<SharedMemory> memory;  ///< of draws before; whoever draws makes it
    std::shared_ptr<SplitDraw> split;      ///< the same, of those that leave neighbours out

    template <class Id>
    [[nodiscard]] RawVector<Id>& ids() noexcept {
        if constexpr (std::is_same_v<Id, VertexId>) {
            return wide;
        } else {
            return narrow;
        }
    }
};

/// Draws neighbours. What is drawn depends on the request alone, never on the body.
class NeighbourSource {
public:
    virtual ~NeighbourSource() = default;
    /// Safe from several tasks at once. May wait for messages. A batch of 2^32 edges or more is an
    /// Error.
    virtual void draw(const DrawRequest& request, DrawnNeighbours& out) const = 0;
    /// How many neighbours each of the vertices has in the whole graph; those of 2^32 and more
    /// count as 2^32 - 1. Never waits. A partitioned source must have been made with degrees.
    virtual void degrees(std::span<const VertexId> of, std::span<std::uint32_t> out) const = 0;
    /// Vertices of the whole graph.
    [[nodiscard]] virtual VertexId vertices() const noexcept = 0;
    /// Memory of the topology on this host, in bytes.
    [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// The whole graph, where this host holds it; empty otherwise.
    [[nodiscard]] virtual graph::TopologyView topology() const noexcept { return {}; }
    /// The types of its entries, which ascend in each row, where it holds types.
    [[nodiscard]] virtual std::span<const std::uint8_t> edge_types() const noexcept { return {}; }
    /// Collective: no rank draws any more. Must come before destruction.
    virtual void stop() {}
};

/// One copy of the whole topology per host in its shared window, assembled from the parts over
/// `comm`; collective. `messages` are what is drawn from instead of the parts' own rows, by own
/// part; empty: those.
[[nodiscard]] std::unique_ptr<NeighbourSource> make_replicated_source(
    const comm::Communicator& comm, const partition::PartitionBook& book,
    std::span<const partition::Part> own, SourceCarries carries = {},
    std::span<const MessageRows> messages = {});
/// Each rank has the rows of its own parts; others are drawn by their owners, one question per
/// owner and draw; collective. `own` and `messages` (as above) must outlive it. With `degrees` the
/// degrees of all vertices lie in a window of the host, 4 bytes each. Where all ranks have a
/// `coder`, answers are written by it.
[[nodiscard]] std::unique_ptr<NeighbourSource> make_partitioned_source(
    const comm::Communicator& comm, const partition::PartitionBook& book,
    std::span<const partition::Part> own, bool degrees = false,
    std::shared_ptr<comm::MessageCoder> coder = nullptr, SourceCarries carries = {},
    std::span<const MessageRows> messages = {});

/// Bytes that a replicated topology would take.
[[nodiscard]] std::uint64_t replicated_bytes(VertexId vertices, EdgeIndex edges,
                                             SourceCarries carries = {}) noexcept;

}  // namespace rudder::sample
