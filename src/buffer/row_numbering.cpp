#include "rudder/buffer/row_numbering.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "rudder/core/check.hpp"

namespace rudder::buffer {

void VertexList::push_back(VertexId v) {
    const std::size_t i = size_.load(std::memory_order_relaxed);
    const std::size_t piece = piece_of(i);
    const std::size_t begin = begin_of(piece);
    if (pieces_[piece] == nullptr)
        pieces_[piece] = std::make_unique_for_overwrite<VertexId[]>(begin_of(piece + 1) - begin);
    pieces_[piece][i - begin] = v;
    size_.store(i + 1, std::memory_order_release);
}

std::uint64_t VertexList::bytes() const noexcept {
    return size() == 0 ? 0 : begin_of(piece_of(size() - 1) + 1) * sizeof(VertexId);
}

RowNumbering::RowNumbering(VertexId vertices, std::span<const VertexId> halo, VertexId limit)
    : universe_(vertices) {
    RUDDER_CHECK(halo.size() < no_row);
    if (vertices <= limit) {
        direct_ = Array<RowKey>::zeroed(vertices);
    } else {
        const std::size_t room = std::bit_ceil(std::max<std::size_t>(1024, halo.size() * 2 + 1));
        table_ = Array<Entry>::zeroed(room);
        shift_ = 64U - static_cast<unsigned>(std::countr_zero(room));
    }
    std::vector<RowKey> rows(halo.size());
    number(halo, rows);
    halo_ = size();
    RUDDER_CHECK(halo_ == halo.size());  // no vertex twice
}

const RowNumbering::Entry& RowNumbering::probe(VertexId v) const noexcept {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = home(v);
    while (table_[at].row_plus_one != 0 && table_[at].vertex != v)
        at = (at + 1) & mask;
    return table_[at];
}

void RowNumbering::grow() {
    const Array<Entry> old = std::exchange(table_, Array<Entry>::zeroed(table_.size() * 2));
    --shift_;
    for (const Entry& entry : old) {
        if (entry.row_plus_one != 0) const_cast<Entry&>(probe(entry.vertex)) = entry;
    }
}

RowKey RowNumbering::add(VertexId v) {
    RUDDER_CHECK(vertices_.size() + 1 < no_row);
    vertices_.push_back(v);
    return static_cast<RowKey>(vertices_.size() - 1);
}

void RowNumbering::number(std::span<const VertexId> ids, std::span<RowKey> out) {
    RUDDER_CHECK(out.size() == ids.size());
    find(ids, out);
    add_missing(ids, out);
}

void RowNumbering::add_missing(std::span<const VertexId> ids, std::span<RowKey> out) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (out[i] != no_row) continue;
        const VertexId v = ids[i];
        RUDDER_CHECK(v < universe_);
        if (direct()) {
            if (direct_[v] == 0) direct_[v] = add(v) + 1;
            out[i] = direct_[v] - 1;
            continue;
        }
        if ((vertices_.size() + 1) * 2 > table_.size()) grow();
        auto& entry = const_cast<Entry&>(probe(v));
        if (entry.row_plus_one == 0) entry = {v, add(v) + 1};
        out[i] = entry.row_plus_one - 1;
    }
}

void RowNumbering::find(std::span<const VertexId> ids, std::span<RowKey> out) const noexcept {
    if (direct()) {
        const RowKey* table = direct_.data();
        for (std::size_t i = 0; i < ids.size(); ++i)
            out[i] = ids[i] < universe_ ? table[ids[i]] - 1 : no_row;
        return;
    }
    const Entry* table = table_.data();
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = 0; i < std::min(lead, ids.size()); ++i)
        __builtin_prefetch(table + home(ids[i]));
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i + lead < ids.size()) __builtin_prefetch(table + home(ids[i + lead]));
        std::size_t at = home(ids[i]);
        while (table[at].row_plus_one != 0 && table[at].vertex != ids[i])
            at = (at + 1) & mask;
        out[i] = table[at].row_plus_one - 1;
    }
}

std::uint64_t RowNumbering::bytes() const noexcept {
    return direct_.size() * sizeof(RowKey) + table_.size() * sizeof(Entry) + vertices_.bytes();
}

}  // namespace rudder::buffer
