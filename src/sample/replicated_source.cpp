#include <algorithm>
#include <numeric>

#include "core/huge_vector.hpp"
#include "rudder/core/id_array.hpp"
#include "rudder/core/parallel.hpp"

#include "carried_part.hpp"
#include "draw_any.hpp"
#include "neighbour_source.hpp"
#include "owners.hpp"
#include "part_exchange.hpp"

namespace rudder::sample {

void throw_too_many_edges() {
    throw Error(ErrorKind::failed, "a layer of a batch has 2^32 edges or more", "the sampler",
                "choose a smaller --batch or --fanout");
}

std::uint64_t replicated_bytes(VertexId vertices, EdgeIndex edges, SourceCarries carries) noexcept {
    const std::uint64_t id =
        IdArray::needs_wide(vertices) ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
    return (vertices + 1) * sizeof(EdgeIndex) + edges * (id + carries.bytes());
}

namespace {

template <class Id>
class ReplicatedSource final : public NeighbourSource {
public:
    ReplicatedSource(const comm::Communicator& comm, const partition::PartitionBook& book,
                     std::span<const partition::Part> own, SourceCarries carries,
                     std::span<const MessageRows> messages)
        : vertices_(book.vertices()), carries_(carries) {
        const PartOwners owners(comm, book, own, messages);
        std::vector<EdgeIndex> base(book.parts() + std::size_t{1}, 0);
        std::partial_sum(owners.edges().begin(), owners.edges().end(), base.begin() + 1);
        offsets_ = comm.share<EdgeIndex>(vertices_ + 1);
        ids_ = comm.share<Id>(base.back());
        if (carries.weights) weights_ = comm.share<float>(base.back());
        if (carries.times) times_ = comm.share<std::int64_t>(base.back());
        if (carries.types) types_ = comm.share<std::uint8_t>(base.back());
        const std::size_t row_bytes = carries.features.row_bytes();
        if (row_bytes != 0) features_ = comm.share<std::byte>(base.back() * row_bytes);
        for (std::size_t i = 0; i < own.size(); ++i)
            write(own[i], rows_of(own, messages, i), base[own[i].id()]);
        if (comm.host().rank() == 0) (*offsets_)[vertices_] = base.back();
        const auto offsets_of = [&](PartId p) {
            return offsets_->subspan(book.range(p).begin, book.range(p).size());
        };
        const auto ids_of = [&](PartId p) {
            return ids_->subspan(base[p], base[p + std::size_t{1}] - base[p]);
        };
        exchange_parts(comm, book, owners, offsets_of, ids_of);
        const auto exchange = [&](const auto& window, std::size_t each = 1) {
            if (window == nullptr) return;
            exchange_parts(comm, book, owners, [&](PartId p) {
                return window->subspan(base[p] * each, (base[p + std::size_t{1}] - base[p]) * each);
            });
        };
        exchange(weights_);
        exchange(times_);
        exchange(types_);
        exchange(features_, row_bytes);
        if (comm.host().rank() == 0 && comm.host().size() > 1) {  // a rank of its own has them
            collapse_huge(offsets_->data(), offsets_->size_bytes());
            collapse_huge(ids_->data(), ids_->size_bytes());
        }
        rows_ = {offsets_->data(),
                 ids_->data(),
                 {weights_ == nullptr ? nullptr : weights_->data(),
                  times_ == nullptr ? nullptr : times_->data(),
                  features_ == nullptr ? nullptr : features_->data(), row_bytes},
                 types_ == nullptr ? nullptr : types_->data()};
    }

    void draw(const DrawRequest& request, DrawnNeighbours& out) const override {
        RUDDER_CHECK(!request.type || carries_.types);
        draw_any<Id>(rows_, request, out);
    }
    void degrees(std::span<const VertexId> of, std::span<std::uint32_t> out) const override {
        for (std::size_t i = 0; i < of.size(); ++i) {
            if (i + place_distance < of.size()) rows_.prefetch_row(of[i + place_distance]);
            out[i] = degree_number(rows_.row(of[i]).degree);
        }
    }
    [[nodiscard]] VertexId vertices() const noexcept override { return vertices_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return replicated_bytes(vertices_, ids_->size(), carries_);
    }
    [[nodiscard]] std::string_view name() const noexcept override { return "replicated"; }
    [[nodiscard]] graph::TopologyView topology() const noexcept override {
        return {*offsets_, IdSpan(std::span<const Id>(*ids_))};
    }
    [[nodiscard]] std::span<const std::uint8_t> edge_types() const noexcept override {
        return types_ == nullptr ? std::span<const std::uint8_t>{} : *types_;
    }

private:
    /// An own part's rows, in global ids, and what they carry.
    void write(const partition::Part& part, const RowsView& rows, EdgeIndex base) {
        const CarriedPart carried(part, rows, carries_);
        const auto range = part.range();
        const auto from = rows.offsets;
        for (VertexId v = 0; v < part.own(); ++v)
            (*offsets_)[range.begin + v] = base + from[v];
        const auto neighbours = carried.neighbours();
        if (carries_.weights) {
            std::ranges::copy(carried.weights(),
                              weights_->begin() + static_cast<std::ptrdiff_t>(base));
        }
        if (carries_.times)
            std::ranges::copy(carried.times(), times_->begin() + static_cast<std::ptrdiff_t>(base));
        if (carries_.types)
            std::ranges::copy(carried.types(), types_->begin() + static_cast<std::ptrdiff_t>(base));
        if (features_ != nullptr) {
            std::ranges::copy(carried.features(),
                              features_->data() + base * carries_.features.row_bytes());
        }
        parallel_chunks(neighbours.size(), std::size_t{1} << 16, [&](const Chunk& chunk) {
            for (std::size_t e = chunk.begin; e < chunk.end; ++e)
                (*ids_)[base + e] = static_cast<Id>(part.global(neighbours[e]));
        });
    }

    VertexId vertices_;
    SourceCarries carries_;
    std::shared_ptr<std::span<EdgeIndex>> offsets_;
    std::shared_ptr<std::span<Id>> ids_;
    std::shared_ptr<std::span<float>> weights_;       ///< null: none
    std::shared_ptr<std::span<std::int64_t>> times_;  ///< null: none
    std::shared_ptr<std::span<std::uint8_t>> types_;  ///< null: none
    std::shared_ptr<std::span<std::byte>> features_;  ///< null: none
    WholeRows<Id> rows_{};
};

}  // namespace

std::unique_ptr<NeighbourSource> make_replicated_source(const comm::Communicator& comm,
                                                        const partition::PartitionBook& book,
                                                        std::span<const partition::Part> own,
                                                        SourceCarries carries,
                                                        std::span<const MessageRows> messages) {
    if (IdArray::needs_wide(book.vertices())) {
        return std::make_unique<ReplicatedSource<std::uint64_t>>(comm, book, own, carries,
                                                                 messages);
    }
    return std::make_unique<ReplicatedSource<std::uint32_t>>(comm, book, own, carries, messages);
}

}  // namespace rudder::sample
