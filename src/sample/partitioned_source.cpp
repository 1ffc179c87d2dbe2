#include <cstring>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "comm/service.hpp"
#include "core/packed_ids.hpp"
#include "core/radix_sort.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/id_array.hpp"

#include "draw_any.hpp"
#include "left_out_wire.hpp"
#include "neighbour_source.hpp"
#include "owners.hpp"
#include "part_exchange.hpp"
#include "part_rows.hpp"

namespace rudder::sample {

namespace {

constexpr comm::Channel draw_channel = comm::channel_of(comm::Talk::draws);

// ---- on the wire -------------------------------------------------------------------------------

/// A question: this, the times of the vertices where they have some, the neighbours that are left
/// out, then the ids, packed. The answer: the drawn ids, their shares where weights were asked for,
/// their rows of features likewise, then how many each vertex has.
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
    std::uint32_t carried;  ///< what is asked of the edges: the bits below
    std::uint32_t temporal;
    std::uint64_t type;      ///< of edges, and 1; 0: all
    std::uint64_t times;     ///< how many
    std::uint64_t left_out;  ///< how many
};

/// What an answer has of each neighbour besides its id.
constexpr std::uint32_t with_shares = 1;
constexpr std::uint32_t with_features = 2;

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

/// Appends bytes as they are.
template <class Bytes>
void append(Bytes& bytes, std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
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

/// A vertex of a draw, and which of them it is.
struct AskedVertex {
    VertexId vertex;
    std::uint32_t position;
};

/// What one draw asks of one rank, and what came back.
template <class Id>
struct Share {
    std::vector<AskedVertex> asked;
    RawVector<VertexId> vertices;   ///< the same, as the rank is asked
    RawVector<std::int64_t> times;  ///< theirs, where vertices have times
    std::vector<LeftOutEntry> left_out;
    comm::Request request;
    RawVector<std::uint32_t> counts;
    RawVector<Id> neighbours;
    RawVector<float> shares;        ///< of the neighbours, where weights were asked for
    RawVector<std::byte> features;  ///< likewise

    /// In ascending order, which makes questions short.
    void sort() {
        std::vector<AskedVertex> scratch;
        radix_sort(asked, scratch, [](const AskedVertex& a) { return a.vertex; });
    }
    void list(const DrawRequest& request) {
        vertices.resize(asked.size());
        for (std::size_t i = 0; i < asked.size(); ++i)
            vertices[i] = asked[i].vertex;
        if (request.temporal != Temporal::off) {
            times.resize(asked.size());
            for (std::size_t i = 0; i < asked.size(); ++i)
                times[i] = request.times[asked[i].position];
        }
        for (std::size_t i = 0; !request.left_out.none() && i < asked.size(); ++i) {
            for (const VertexId neighbour : request.left_out.of(asked[i].position))
                left_out.push_back({i, neighbour});
        }
    }
};

[[noreturn]] void refuse_draws(int from, const char* what) {
    throw Error(ErrorKind::rank, fmt::format("invalid message about neighbours: {}", what),
                fmt::format("rank {}", from),
                "the ranks disagree about the partition; give all of them the same", from);
}

class PartitionedSource final : public NeighbourSource {
public:
    PartitionedSource(const comm::Communicator& comm, const partition::PartitionBook& book,
                      std::span<const partition::Part> own, bool with_degrees,
                      std::shared_ptr<comm::MessageCoder> coder, SourceCarries carries,
                      std::span<const MessageRows> messages)
        : comm_(comm),
          book_(book),
          owners_(comm, book_, own, messages),
          rows_(book_, own, carries, messages),
          carries_(carries),
          coder_(std::move(coder)),
          bytes_(rows_.bytes()) {
        for (std::size_t i = 0; i < own.size(); ++i) {
            const RowsView rows = rows_of(own, messages, i);
            bytes_ +=
                rows.offsets.size_bytes() + own[i].halo().size_bytes() +
                rows.neighbours.size() * (sizeof(LocalId) + (carries.weights ? sizeof(float) : 0) +
                                          carries.features.row_bytes());
        }
        if (with_degrees) gather_degrees(own, messages);
        if (comm_.size() > 1) {
            service_.emplace(comm_, draw_channel,
                             [this](int from, auto question, comm::Service::Answer& out) {
                                 answer(from, question, out);
                             });
        }
        comm_.barrier();  // whoever asks is answered
    }

    void draw(const DrawRequest& request, DrawnNeighbours& out) const override {
        RUDDER_CHECK(!request.type || carries_.types);
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
        for (std::size_t i = 0; i < request.vertices.size(); ++i) {
            const VertexId v = request.vertices[i];
            const int rank = owners_.rank(book_.owner(v));
            shares[static_cast<std::size_t>(rank)].asked.push_back(
                {v, static_cast<std::uint32_t>(i)});
        }
        ask_all<Id>(request, shares);
        draw_own<Id>(request, shares[static_cast<std::size_t>(comm_.rank())], out.memory);
        for (int r = 0; r < comm_.size(); ++r) {
            if (r != comm_.rank()) take_answer(r, request, shares[static_cast<std::size_t>(r)]);
        }
        merge<Id>(request, shares, out);
    }

    /// Of all vertices, into a window of the host.
    void gather_degrees(std::span<const partition::Part> own,
                        std::span<const MessageRows> messages) {
        degrees_ = comm_.share<std::uint32_t>(book_.vertices());
        for (std::size_t i = 0; i < own.size(); ++i) {
            const auto offsets = rows_of(own, messages, i).offsets;
            const VertexId first = own[i].range().begin;
            for (VertexId v = 0; v < own[i].own(); ++v)
                (*degrees_)[first + v] = degree_number(offsets[v + 1] - offsets[v]);
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
        const QuestionHead head{
            request.key.seed,
            request.key.step,
            static_cast<std::uint32_t>(request.key.purpose),
            request.key.epoch,
            request.key.layer,
            request.fanout,
            request.redraw,
            request.with_replacement ? 1U : 0U,
            static_cast<std::uint32_t>(request.sampler),
            (request.weighted ? with_shares : 0U) | (request.features ? with_features : 0U),
            static_cast<std::uint32_t>(request.temporal),
            request.type ? std::uint64_t{*request.type} + 1 : 0,
            0,
            0};
        for (std::size_t r = 0; r < shares.size(); ++r) {
            Share<Id>& share = shares[r];
            if (share.asked.empty() || static_cast<int>(r) == comm_.rank()) continue;
            share.sort();
            share.list(request);
            const std::shared_ptr<comm::Service::Bytes> question = service_->memory();
            QuestionHead own_head = head;
            own_head.times = share.times.size();
            own_head.left_out = share.left_out.size();
            question->resize(sizeof own_head);
            std::memcpy(question->data(), &own_head, sizeof own_head);
            append(*question, std::as_bytes(std::span(share.times)));
            append(*question, std::as_bytes(std::span(share.left_out)));
            pack_ids(share.vertices, 0, *question);
            share.request = service_->ask_message(static_cast<int>(r), request.kind, question);
        }
    }

    template <class Id>
    void draw_own(DrawRequest request, Share<Id>& share,
                  std::shared_ptr<SharedMemory>& memory) const {
        share.list(request);
        request.vertices = share.vertices;
        request.times = share.times;
        LeftOutLists left_out;
        RUDDER_CHECK(left_out.fill(share.left_out, share.vertices.size(), book_.vertices()));
        request.left_out = left_out.view();
        DrawnNeighbours drawn;
        drawn.memory = std::move(memory);
        draw_any<Id>(rows_, request, drawn);
        memory = std::move(drawn.memory);
        share.counts.resize(share.vertices.size());
        for (std::size_t i = 0; i < share.counts.size(); ++i)
            share.counts[i] = drawn.offsets[i + 1] - drawn.offsets[i];
        share.neighbours = std::move(drawn.ids<Id>());
        share.shares = std::move(drawn.shares);
        share.features = std::move(drawn.features);
    }

    template <class Id>
    void take_answer(int from, const DrawRequest& request, Share<Id>& share) const {
        if (share.asked.empty()) return;
        const comm::Message message = share.request.take();
        comm::MessageCoder::Bytes decoded;
        if (coder_ != nullptr) decoded = coder_->decoded(message, from);
        const std::span<const std::byte> bytes =
            coder_ != nullptr ? std::span<const std::byte>(decoded) : message.bytes;
        const WireWidths widths(book_.vertices(), request.fanout);
        const std::size_t counts = share.vertices.size() * widths.count;
        const std::size_t row_bytes = request.features ? carries_.features.row_bytes() : 0;
        const std::size_t per_id = widths.id + (request.weighted ? sizeof(float) : 0) + row_bytes;
        if (bytes.size() < counts || (bytes.size() - counts) % per_id != 0)
            refuse_draws(from, "an answer of another length");
        const std::size_t drawn = (bytes.size() - counts) / per_id;
        share.neighbours.resize(drawn);
        extract(bytes.first(drawn * widths.id), widths.id, share.neighbours.data());
        share.shares.resize(request.weighted ? drawn : 0);
        if (!share.shares.empty()) {
            std::memcpy(share.shares.data(), bytes.data() + drawn * widths.id,
                        drawn * sizeof(float));
        }
        const auto rows = bytes.subspan(drawn * (per_id - row_bytes), drawn * row_bytes);
        share.features.assign(rows.begin(), rows.end());
        share.counts.resize(share.vertices.size());
        extract(bytes.last(counts), widths.count, share.counts.data());
        std::size_t sum = 0;
        for (const std::uint32_t count : share.counts)
            sum += count;
        if (sum != share.neighbours.size()) refuse_draws(from, "counts that do not add up");
    }

    /// Puts the answers into the order of the request.
    template <class Id>
    void merge(const DrawRequest& request, std::span<const Share<Id>> shares,
               DrawnNeighbours& out) const {
        const std::size_t vertices = request.vertices.size();
        const bool weighted = request.weighted;
        out.offsets.resize(vertices + 1);
        for (const Share<Id>& share : shares) {
            for (std::size_t i = 0; i < share.asked.size(); ++i)
                out.offsets[share.asked[i].position] = share.counts[i];
        }
        EdgeIndex sum = 0;
        for (std::size_t i = 0; i <= vertices; ++i) {
            if (sum > std::numeric_limits<std::uint32_t>::max()) throw_too_many_edges();
            const std::uint32_t count = i < vertices ? out.offsets[i] : 0;
            out.offsets[i] = static_cast<std::uint32_t>(sum);
            sum += count;
        }
        RawVector<Id>& ids = out.ids<Id>();
        ids.resize(sum);
        out.shares.resize(weighted ? sum : 0);
        const std::size_t row_bytes = request.features ? carries_.features.row_bytes() : 0;
        out.features.resize(sum * row_bytes);
        for (const Share<Id>& share : shares) {
            place(share, share.neighbours.data(), out.offsets, ids.data());
            if (weighted) place(share, share.shares.data(), out.offsets, out.shares.data());
            if (row_bytes != 0) {
                place(share, share.features.data(), out.offsets, out.features.data(), row_bytes);
            }
        }
    }

    /// Puts what one rank said of each drawn neighbour, `each` numbers, into the order of the
    /// request.
    template <class Id, class T>
    static void place(const Share<Id>& share, const T* from,
                      const RawVector<std::uint32_t>& offsets, T* out, std::size_t each = 1) {
        for (std::size_t i = 0; i < share.asked.size(); ++i) {
            T* const to = out + offsets[share.asked[i].position] * each;
            const std::size_t count = share.counts[i] * each;
            for (std::size_t j = 0; j < count; ++j)
                to[j] = from[j];
            from += count;
        }
    }

    /// Another rank's question. Only the service's task calls it, so its memory can be kept.
    void answer(int from, std::span<const std::byte> question, comm::Service::Answer& bytes) {
        QuestionHead head{};
        if (question.size() < sizeof head) refuse_draws(from, "a question without a head");
        std::memcpy(&head, question.data(), sizeof head);
        std::span<const std::byte> rest = question.subspan(sizeof head);
        take_list(from, rest, head.times, asked_times_, "fewer times than it says");
        take_list(from, rest, head.left_out, asked_left_out_, "fewer neighbours than it says");
        if (!unpack_ids(rest, 0, book_.vertices(), asked_))
            refuse_draws(from, "a list of vertices that cannot be read");
        check_carried(from, head);
        if (!left_out_.fill(asked_left_out_, asked_.size(), book_.vertices()) ||
            (head.left_out != 0 && (head.carried != 0 || head.times != 0)))
            refuse_draws(from, "neighbours to leave out that cannot be");
        for (const VertexId v : asked_) {
            if (owners_.rank(book_.owner(v)) != comm_.rank())
                refuse_draws(from, "a question about vertices of another rank");
        }
        const WireWidths widths(book_.vertices(), head.fanout);
        const DrawRequest request{
            .key = {static_cast<Purpose>(head.purpose), head.seed, head.epoch, head.step,
                    head.layer},
            .vertices = asked_,
            .fanout = head.fanout,
            .with_replacement = head.with_replacement != 0,
            .sampler = static_cast<Sampler>(head.sampler),
            .redraw = head.redraw,
            .weighted = (head.carried & with_shares) != 0,
            .features = (head.carried & with_features) != 0,
            .temporal = static_cast<Temporal>(head.temporal),
            .times = asked_times_,
            .left_out = left_out_.view(),
            .type = head.type == 0 ? std::nullopt
                                   : std::optional(static_cast<std::uint8_t>(head.type - 1))};
        if (coder_ != nullptr) bytes.resize(1);
        widths.id == sizeof(VertexId) ? answer_as<VertexId>(request, widths, bytes)
                                      : answer_as<std::uint32_t>(request, widths, bytes);
        if (coder_ != nullptr) coder_->encode(bytes, widths.id);
    }

    /// Takes a list of so many from the front of what is left of a question.
    template <class List>
    static void take_list(int from, std::span<const std::byte>& rest, std::uint64_t count,
                          List& out, const char* problem) {
        constexpr std::size_t size = sizeof(typename List::value_type);
        if (count > rest.size() / size) refuse_draws(from, problem);
        out.resize(count);
        if (count != 0) std::memcpy(out.data(), rest.data(), count * size);
        rest = rest.subspan(count * size);
    }

    /// What is asked of the data that edges carry must be there.
    void check_carried(int from, const QuestionHead& head) const {
        const bool timed = head.temporal != static_cast<std::uint32_t>(Temporal::off);
        if (head.temporal > static_cast<std::uint32_t>(Temporal::uniform) ||
            (timed && !carries_.times) || head.carried > (with_shares | with_features) ||
            ((head.carried & with_shares) != 0 && !carries_.weights) ||
            ((head.carried & with_features) != 0 && !carries_.features.present()))
            refuse_draws(from, "a question about what edges do not carry here");
        if (head.type > graph::most_types || (head.type != 0 && !carries_.types))
            refuse_draws(from, "a question about a type that edges do not have here");
        if (head.times != (timed ? asked_.size() : 0))
            refuse_draws(from, "not one time for each vertex");
    }

    template <class Id>
    void answer_as(const DrawRequest& request, const WireWidths& widths,
                   comm::Service::Answer& bytes) {
        // What is kept from draw to draw is of the rows of one type.
        const std::size_t number = request.type ? *request.type + std::size_t{1} : 0;
        if (drawn_.size() <= number) drawn_.resize(number + 1);
        DrawnNeighbours& drawn = drawn_[number];
        draw_any<Id>(rows_, request, drawn);
        const RawVector<Id>& ids = drawn.ids<Id>();
        bytes.reserve(bytes.size() + ids.size() * (widths.id + sizeof(float)) +
                      drawn.features.size() + asked_.size() * widths.count);
        append(bytes, widths.id, std::span<const Id>(ids));
        if (request.weighted) append(bytes, std::as_bytes(std::span(drawn.shares)));
        if (request.features) append(bytes, std::span<const std::byte>(drawn.features));
        for (std::size_t i = 0; i < asked_.size(); ++i)
            drawn.offsets[i] = drawn.offsets[i + 1] - drawn.offsets[i];
        append(bytes, widths.count,
               std::span<const std::uint32_t>(drawn.offsets).first(asked_.size()));
    }

    comm::Communicator comm_;
    partition::PartitionBook book_;
    PartOwners owners_;
    PartRows rows_;
    SourceCarries carries_;
    std::shared_ptr<comm::MessageCoder> coder_;          ///< of answers; null: none
    std::shared_ptr<std::span<std::uint32_t>> degrees_;  ///< by vertex, where asked for
    std::uint64_t bytes_ = 0;
    bool stopped_ = false;
    RawVector<VertexId> asked_;
    RawVector<std::int64_t> asked_times_;
    std::vector<LeftOutEntry> asked_left_out_;
    LeftOutLists left_out_;
    std::vector<DrawnNeighbours> drawn_;    ///< of all edges, then by type
    std::optional<comm::Service> service_;  ///< last: its task uses the others
};

}  // namespace

std::unique_ptr<NeighbourSource> make_partitioned_source(
    const comm::Communicator& comm, const partition::PartitionBook& book,
    std::span<const partition::Part> own, bool degrees, std::shared_ptr<comm::MessageCoder> coder,
    SourceCarries carries, std::span<const MessageRows> messages) {
    return std::make_unique<PartitionedSource>(comm, book, own, degrees, std::move(coder), carries,
                                               messages);
}

}  // namespace rudder::sample
