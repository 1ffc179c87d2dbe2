// Draws of any kind, also from rows that some of their neighbours have left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rudder/core/check.hpp"

#include "shared_rows.hpp"
#include "typed_rows.hpp"

namespace rudder::sample {

/// Rows of some vertices without the neighbours that are left out (see RowDrawer for what rows
/// are). A neighbour that a row has several times leaves it altogether.
template <class Rows>
class ThinnedRows {
    using Whole = decltype(std::declval<const Rows&>().row(VertexId{}));

public:
    struct Row {
        Whole whole;
        EdgeIndex degree;
        const EdgeIndex* kept_before;  ///< of each entry that left: those kept before it

        static constexpr std::size_t entry_bytes = Whole::entry_bytes;
        [[nodiscard]] const void* entry(EdgeIndex i) const noexcept { return whole.entry(i); }
        [[nodiscard]] VertexId operator[](EdgeIndex i) const noexcept {
            const EdgeIndex* const end = kept_before + (whole.degree - degree);
            return whole[i + static_cast<EdgeIndex>(std::upper_bound(kept_before, end, i) -
                                                    kept_before)];
        }
    };

    explicit ThinnedRows(const Rows& rows) : rows_(rows) {}

    /// A vertex that is drawn for, without these neighbours (ascending).
    void add(VertexId v, std::span<const VertexId> without) {
        const Whole row = rows_.row(v);
        Place place{v, kept_before_.size(), 0};
        EdgeIndex kept = 0;
        for (EdgeIndex e = 0; e < row.degree; ++e) {
            if (std::ranges::binary_search(without, row[e])) {
                kept_before_.push_back(kept);
                ++place.left;
            } else {
                ++kept;
            }
        }
        places_.push_back(place);
    }
    /// All are there.
    void finish() { std::ranges::sort(places_, {}, &Place::vertex); }

    [[nodiscard]] Row row(VertexId v) const noexcept {
        const Whole whole = rows_.row(v);
        const auto place = std::ranges::lower_bound(places_, v, {}, &Place::vertex);
        return {whole, whole.degree - place->left, kept_before_.data() + place->first};
    }
    void prefetch_row(VertexId v) const noexcept { rows_.prefetch_row(v); }

private:
    struct Place {
        VertexId vertex;
        std::size_t first;  ///< of its entries in `kept_before_`
        EdgeIndex left;     ///< how many have left
    };

    const Rows& rows_;
    std::vector<Place> places_;
    std::vector<EdgeIndex> kept_before_;
};

/// Memory of draws of which some leave neighbours out.
struct SplitDraw {
    RawVector<VertexId> whole;    ///< vertices that keep all of their neighbours
    RawVector<VertexId> thinned;  ///< the others
    DrawnNeighbours from_whole;
    DrawnNeighbours from_thinned;
};

/// Puts what both were drawn into the order of the request.
template <class Id>
void merge_split(const DrawRequest& request, SplitDraw& split, DrawnNeighbours& out) {
    const std::size_t vertices = request.vertices.size();
    const RawVector<Id>& whole = split.from_whole.template ids<Id>();
    const RawVector<Id>& thinned = split.from_thinned.template ids<Id>();
    if (whole.size() + thinned.size() > std::numeric_limits<std::uint32_t>::max())
        throw_too_many_edges();
    RawVector<Id>& ids = out.template ids<Id>();
    ids.resize(whole.size() + thinned.size());
    out.offsets.resize(vertices + 1);
    out.offsets[0] = 0;
    Id* to = ids.data();
    std::size_t w = 0;
    std::size_t t = 0;
    for (std::size_t i = 0; i < vertices; ++i) {
        const bool is_thinned = !request.left_out.of(i).empty();
        const RawVector<std::uint32_t>& offsets =
            is_thinned ? split.from_thinned.offsets : split.from_whole.offsets;
        const Id* const from = is_thinned ? thinned.data() : whole.data();
        const std::size_t at = is_thinned ? t++ : w++;
        to = std::copy(from + offsets[at], from + offsets[at + 1], to);
        out.offsets[i + 1] = static_cast<std::uint32_t>(to - ids.data());
    }
}

/// Vertices that leave neighbours out are drawn for apart from the others, from rows without them:
/// what a hub keeps from step to step is of its whole row, so they keep nothing.
template <class Id, class Rows>
void draw_split(const Rows& rows, const DrawRequest& request, DrawnNeighbours& out) {
    RUDDER_CHECK(!request.carried());
    if (out.split == nullptr) {
        out.split = std::make_shared<SplitDraw>();
        out.split->from_thinned.memory = std::make_shared<SharedMemory>();
        out.split->from_thinned.memory->hubs = HubDraws(0);
    }
    SplitDraw& split = *out.split;
    split.whole.clear();
    split.thinned.clear();
    ThinnedRows<Rows> thinned(rows);
    for (std::size_t i = 0; i < request.vertices.size(); ++i) {
        const std::span<const VertexId> without = request.left_out.of(i);
        (without.empty() ? split.whole : split.thinned).push_back(request.vertices[i]);
        if (!without.empty()) thinned.add(request.vertices[i], without);
    }
    thinned.finish();
    DrawRequest some = request;
    some.left_out = {};
    some.vertices = split.whole;
    split.from_whole.memory = std::move(out.memory);
    draw_whole<Id>(rows, some, split.from_whole);
    out.memory = std::move(split.from_whole.memory);
    some.vertices = split.thinned;
    draw_whole<Id>(thinned, some, split.from_thinned);
    merge_split<Id>(request, split, out);
    out.shares.clear();
}

/// Ids are written in the width of the whole graph's: `out.narrow` or `out.wide`.
template <class Id, class Rows>
void draw_any(const Rows& rows, const DrawRequest& request, DrawnNeighbours& out) {
    if (request.type) {
        const RowsOfType<Rows> of_type(rows, *request.type);
        if (request.left_out.none()) return draw_whole<Id>(of_type, request, out);
        return draw_split<Id>(of_type, request, out);
    }
    if (request.left_out.none()) return draw_whole<Id>(rows, request, out);
    draw_split<Id>(rows, request, out);
}

}  // namespace rudder::sample
