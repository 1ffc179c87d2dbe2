#include <cstring>
#include <limits>
#include <optional>

#include "comm/service.hpp"
#include "rudder/core/id_array.hpp"

#include "draw_rows.hpp"
#include "neighbour_source.hpp"
#include "owners.hpp"
#include "part_exchange.hpp"
#include "shared_rows.hpp"

namespace rudder::sample {

namespace {

constexpr comm::Channel draw_channel = comm::channel_of(comm::Talk::draws);

/// The rows of a rank's own parts.
class PartRows {
    struct OwnPart {
        const EdgeIndex* offsets;
        const LocalId* neighbours;
        const VertexId* halo;
        VertexId first;
        VertexId own;
    };

public:
    struct Row {
        const LocalId* locals;
        EdgeIndex degree;
        const OwnPart* part;

        static constexpr std::size_t entry_bytes = sizeof(LocalId);
        [[nodiscard]] const void* entry(EdgeIndex i) const noexcept { return locals + i; }
        [[nodiscard]] VertexId operator[](EdgeIndex i) const noexcept {
            const LocalId local = locals[i];
            return local < part->own ? part->first + local : part->halo[local - part->own];
        }
    };

    PartRows(const partition::PartitionBook& book, std::span<const partition::Part> own)
        : book_(&book), slot_(book.parts(), 0) {
        for (std::size_t i = 0; i < own.size(); ++i) {
            slot_[own[i].id()] = i;
            parts_.push_back({own[i].offsets().data(), own[i].neighbours().data(),
                              own[i].halo().data(), own[i].range().begin, own[i].own()});
        }
    }

    [[nodiscard]] Row row(VertexId v) const noexcept {
        const OwnPart& part = parts_[slot_[book_->owner(v)]];
        const EdgeIndex* const place = part.offsets + (v - part.first);
        return {part.neighbours + place[0], place[1] - place[0], &part};
    }
    void prefetch_row(VertexId v) const noexcept {
        const OwnPart& part = parts_[slot_[book_->owner(v)]];
        __builtin_prefetch(part.offsets + (v - part.first));
    }

private:
    const partition::PartitionBook* book_;
    std::vector<std::size_t> slot_;  ///< by part
    std::vector<OwnPart> parts_;
};

// ---- on the wire -------------------------------------------------------------------------------

/// A question: this, then the ids. The answer: the drawn ids, then how many each vertex has.
struct QuestionHead {
    std::uint64_t seed;
    std::uint64_t step;
    std::uint32_t purpose;
    std::uint32_t epoch;
    std::uint32_t layer;
    std::int32_t fanout;
    std::uint64_t redraw;
    std::uint32_t with_replacement;
    std::uint32_t sampler;
};

/// How wide ids and counts are; both sides know.
struct WireWidths {
    std::size_t id;
    std::size_t count;

    WireWidths(VertexId vertices, std::int32_t fanout)
        : id(IdArray::needs_wide(vertices) ? 8 : 4), count(fanout > 0 && fanout < 256 ? 1 : 4) {}
};

/// Calls `f` with a value of the unsigned type of this width.
template <class F>
decltype(auto) with_width(std::size_t width, F&& f) {
    if (width == 1) return f(std::uint8_t{});
    if (width == 4) return f(std::uint32_t{});
    return f(std::uint64_t{});
}

/// Appends numbers in their width on the wire.
template <class From, class Bytes>
void append(Bytes& bytes, std::size_t width, std::span<const From> values) {
    const std::size_t start = bytes.size();
    bytes.resize(start + values.size() * width);
    with_width(width, [&](auto zero) {
        using To = decltype(zero);
        std::byte* at = bytes.data() + start;
        for (const From value : values) {
            const auto narrowed = static_cast<To>(value);
            std::memcpy(at, &narrowed, sizeof narrowed);
            at += sizeof narrowed;
        }
    });
}

/// Reads them back.
template <class To>
void extract(std::span<const std::byte> bytes, std::size_t width, To* out) {
    with_width(width, [&](auto zero) {
        auto value = zero;
        for (std::size_t i = 0; i < bytes.size(); i += sizeof value) {
            std::memcpy(&value, bytes.data() + i, sizeof value);
            *out++ = static_cast<To>(value);
        }
    });
}

// ---- the source --------------------------------------------------------------------------------

/// What one draw asks of one rank, and what came back.
template <class Id>
struct Share {
    RawVector<VertexId> vertices;
    comm::Request request;
    RawVector<std::uint32_t> counts;
    RawVector<Id> neighbours;
    std::size_t next_vertex = 0;
    std::size_t next_neighbour = 0;
};

class PartitionedSource final : public NeighbourSource {
public:
    PartitionedSource(const comm::Communicator& comm, const partition::PartitionBook& book,
                      std::span<const partition::Part> own, bool with_degrees)
        : comm_(comm), book_(book), owners_(comm, book_, own), rows_(book_, own) {
        for (const partition::Part& part : own) {
            bytes_ += part.offsets().size_bytes() + part.neighbours().size_bytes() +
                      part.halo().size_bytes();
        }
        if (with_degrees) gather_degrees(own);
        if (comm_.size() > 1) {
            service_.emplace(comm_, draw_channel,
                             [this](int /*from*/, auto question, comm::Service::Answer& out) {
                                 answer(question, out);
                             });
        }
        comm_.barrier();  // whoever asks is answered
    }

    void draw(const DrawRequest& request, DrawnNeighbours& out) const override {
        if (IdArray::needs_wide(book_.vertices())) {
            draw_as<VertexId>(request, out);
        } else {
            draw_as<std::uint32_t>(request, out);
        }
    }

    void degrees(std::span<const VertexId> of, std::span<std::uint32_t> out) const override {
        RUDDER_CHECK(degrees_ != nullptr);  // asked for when it was made
        const std::uint32_t* const all = degrees_->data();
        for (std::size_t i = 0; i < of.size(); ++i) {
            if (i + entry_distance < of.size()) __builtin_prefetch(all + of[i + entry_distance]);
            out[i] = all[of[i]];
        }
    }
    [[nodiscard]] VertexId vertices() const noexcept override { return book_.vertices(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
    [[nodiscard]] std::string_view name() const noexcept override { return "partitioned"; }

    void stop() override {
        if (stopped_) return;
        stopped_ = true;
        comm_.barrier();
        if (service_) service_->stop();
    }

private:
    template <class Id>
    void draw_as(const DrawRequest& request, DrawnNeighbours& out) const {
        if (comm_.size() == 1) return draw_any<Id>(rows_, request, out);
        std::vector<Share<Id>> shares(static_cast<std::size_t>(comm_.size()));
        RawVector<std::uint32_t> rank_of(request.vertices.size());
        for (std::size_t i = 0; i < rank_of.size(); ++i) {
            const VertexId v = request.vertices[i];
            rank_of[i] = static_cast<std::uint32_t>(owners_.rank(book_.owner(v)));
            shares[rank_of[i]].vertices.push_back(v);
        }
        ask_all<Id>(request, shares);
        draw_own<Id>(request, shares[static_cast<std::size_t>(comm_.rank())], out.memory);
        for (Share<Id>& share : shares)
            take_answer(request.fanout, share);
        merge<Id>(rank_of, shares, out);
    }

    /// Of all vertices, into a window of the host.
    void gather_degrees(std::span<const partition::Part> own) {
        degrees_ = comm_.share<std::uint32_t>(book_.vertices());
        for (const partition::Part& part : own) {
            const auto offsets = part.offsets();
            for (VertexId v = 0; v < part.own(); ++v)
                (*degrees_)[part.range().begin + v] = degree_number(offsets[v + 1] - offsets[v]);
        }
        exchange_parts(comm_, book_, owners_, [&](PartId p) {
            return degrees_->subspan(book_.range(p).begin, book_.range(p).size());
        });
        // The host's one window counts once over its ranks.
        const auto ranks = static_cast<std::uint64_t>(comm_.host().size());
        bytes_ += degrees_->size_bytes() / ranks;
    }

    template <class Id>
    void ask_all(const DrawRequest& request, std::span<Share<Id>> shares) const {
        const QuestionHead head{request.key.seed,
                                request.key.step,
                                static_cast<std::uint32_t>(request.key.purpose),
                                request.key.epoch,
                                request.key.layer,
                                request.fanout,
                                request.redraw,
                                request.with_replacement ? 1U : 0U,
                                static_cast<std::uint32_t>(request.sampler)};
        const WireWidths widths(book_.vertices(), request.fanout);
        for (std::size_t r = 0; r < shares.size(); ++r) {
            const auto& ids = shares[r].vertices;
            if (ids.empty() || static_cast<int>(r) == comm_.rank()) continue;
            std::vector<std::byte> question;
            question.reserve(sizeof head + ids.size() * widths.id);
            question.resize(sizeof head);
            std::memcpy(question.data(), &head, sizeof head);
            append(question, widths.id, std::span<const VertexId>(ids));
            shares[r].request =
                service_->ask(static_cast<int>(r), request.kind, std::move(question));
        }
    }

    template <class Id>
    void draw_own(DrawRequest request, Share<Id>& share,
                  std::shared_ptr<SharedMemory>& memory) const {
        request.vertices = share.vertices;
        DrawnNeighbours drawn;
        drawn.memory = std::move(memory);
        draw_any<Id>(rows_, request, drawn);
        memory = std::move(drawn.memory);
        share.counts.resize(share.vertices.size());
        for (std::size_t i = 0; i < share.counts.size(); ++i)
            share.counts[i] = drawn.offsets[i + 1] - drawn.offsets[i];
        share.neighbours = std::move(drawn.ids<Id>());
        share.vertices.clear();  // nothing to wait for
    }

    template <class Id>
    void take_answer(std::int32_t fanout, Share<Id>& share) const {
        if (share.vertices.empty()) return;
        const comm::Message message = share.request.take();
        const WireWidths widths(book_.vertices(), fanout);
        const std::span<const std::byte> bytes(message.bytes);
        const std::size_t counts = share.vertices.size() * widths.count;
        RUDDER_CHECK(bytes.size() >= counts && (bytes.size() - counts) % widths.id == 0);
        share.neighbours.resize((bytes.size() - counts) / widths.id);
        extract(bytes.first(bytes.size() - counts), widths.id, share.neighbours.data());
        share.counts.resize(share.vertices.size());
        extract(bytes.last(counts), widths.count, share.counts.data());
    }

    /// Puts the answers into the order of the request.
    template <class Id>
    static void merge(std::span<const std::uint32_t> rank_of, std::span<Share<Id>> shares,
                      DrawnNeighbours& out) {
        out.offsets.resize(rank_of.size() + 1);
        out.offsets[0] = 0;
        EdgeIndex sum = 0;
        for (std::size_t i = 0; i < rank_of.size(); ++i) {
            Share<Id>& share = shares[rank_of[i]];
            sum += share.counts[share.next_vertex++];
            if (sum > std::numeric_limits<std::uint32_t>::max()) throw_too_many_edges();
            out.offsets[i + 1] = static_cast<std::uint32_t>(sum);
        }
        RawVector<Id>& ids = out.ids<Id>();
        ids.resize(sum);
        for (std::size_t i = 0; i < rank_of.size(); ++i) {
            Share<Id>& share = shares[rank_of[i]];
            const Id* const from = share.neighbours.data() + share.next_neighbour;
            Id* const to = ids.data() + out.offsets[i];
            const std::size_t count = out.offsets[i + 1] - out.offsets[i];
            for (std::size_t j = 0; j < count; ++j)
                to[j] = from[j];
            share.next_neighbour += count;
        }
    }

    /// Another rank's question. Only the service's task calls it, so its memory can be kept.
    void answer(std::span<const std::byte> question, comm::Service::Answer& bytes) {
        QuestionHead head{};
        RUDDER_CHECK(question.size() >= sizeof head);
        std::memcpy(&head, question.data(), sizeof head);
        const auto ids = question.subspan(sizeof head);
        const WireWidths widths(book_.vertices(), head.fanout);
        asked_.resize(ids.size() / widths.id);
        extract(ids, widths.id, asked_.data());
        const DrawRequest request{.key = {static_cast<Purpose>(head.purpose), head.seed, head.epoch,
                                          head.step, head.layer},
                                  .vertices = asked_,
                                  .fanout = head.fanout,
                                  .with_replacement = head.with_replacement != 0,
                                  .sampler = static_cast<Sampler>(head.sampler),
                                  .redraw = head.redraw};
        widths.id == sizeof(VertexId) ? answer_as<VertexId>(request, widths, bytes)
                                      : answer_as<std::uint32_t>(request, widths, bytes);
    }

    template <class Id>
    void answer_as(const DrawRequest& request, const WireWidths& widths,
                   comm::Service::Answer& bytes) {
        draw_any<Id>(rows_, request, drawn_);
        const RawVector<Id>& ids = drawn_.ids<Id>();
        bytes.reserve(ids.size() * widths.id + asked_.size() * widths.count);
        append(bytes, widths.id, std::span<const Id>(ids));
        for (std::size_t i = 0; i < asked_.size(); ++i)
            drawn_.offsets[i] = drawn_.offsets[i + 1] - drawn_.offsets[i];
        append(bytes, widths.count,
               std::span<const std::uint32_t>(drawn_.offsets).first(asked_.size()));
    }

    comm::Communicator comm_;
    partition::PartitionBook book_;
    PartOwners owners_;
    PartRows rows_;
    std::shared_ptr<std::span<std::uint32_t>> degrees_;  ///< by vertex, where asked for
    std::uint64_t bytes_ = 0;
    bool stopped_ = false;
    RawVector<VertexId> asked_;
    DrawnNeighbours drawn_;
    std::optional<comm::Service> service_;  ///< last: its task uses the others
};

}  // namespace

std::unique_ptr<NeighbourSource> make_partitioned_source(const comm::Communicator& comm,
                                                         const partition::PartitionBook& book,
                                                         std::span<const partition::Part> own,
                                                         bool degrees) {
    return std::make_unique<PartitionedSource>(comm, book, own, degrees);
}

}  // namespace rudder::sample
