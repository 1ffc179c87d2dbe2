// The rows of a rank's own parts, where they lie, for draws.
#pragma once

#include <span>
#include <vector>

#include "rudder/partition/book.hpp"
#include "rudder/partition/part.hpp"

#include "carried_part.hpp"
#include "draw_rows.hpp"

namespace rudder::sample {

/// Rows as RowDrawer wants them.
class PartRows {
    struct OwnPart {
        const EdgeIndex* offsets;
        const LocalId* neighbours;
        const VertexId* halo;
        VertexId first;
        VertexId own;
        CarriedRow carried;         ///< of all its entries
        const std::uint8_t* types;  ///< likewise; null: none
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
        [[nodiscard]] Row part_of(EdgeIndex from, EdgeIndex count) const noexcept {
            return {locals + from, count, part};
        }
    };

    PartRows(const partition::PartitionBook& book, std::span<const partition::Part> own,
             SourceCarries carries, std::span<const MessageRows> messages)
        : book_(&book), slot_(book.parts(), 0) {
        carried_.reserve(own.size());
        for (std::size_t i = 0; i < own.size(); ++i) {
            slot_[own[i].id()] = i;
            const RowsView rows = rows_of(own, messages, i);
            const CarriedPart& carried = carried_.emplace_back(own[i], rows, carries);
            parts_.push_back({rows.offsets.data(),
                              carried.neighbours().data(),
                              own[i].halo().data(),
                              own[i].range().begin,
                              own[i].own(),
                              {carries.weights ? carried.weights().data() : nullptr,
                               carries.times ? carried.times().data() : nullptr,
                               carries.features.present() ? carried.features().data() : nullptr,
                               carries.features.row_bytes()},
                              carries.types ? carried.types().data() : nullptr});
        }
    }

    /// Memory beside that of the parts.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        std::uint64_t sum = 0;
        for (const CarriedPart& part : carried_)
            sum += part.bytes();
        return sum;
    }
    [[nodiscard]] CarriedRow carried(VertexId v) const noexcept {
        const OwnPart& part = parts_[slot_[book_->owner(v)]];
        return part.carried.from(part.offsets[v - part.first]);
    }

    /// The types of a row's entries, which ascend.
    [[nodiscard]] const std::uint8_t* types_of(VertexId v) const noexcept {
        const OwnPart& part = parts_[slot_[book_->owner(v)]];
        return part.types + part.offsets[v - part.first];
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
    std::vector<CarriedPart> carried_;
    std::vector<OwnPart> parts_;
};

}  // namespace rudder::sample
