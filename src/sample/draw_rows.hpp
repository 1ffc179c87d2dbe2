// Draws the neighbours of many vertices from rows, wherever those lie.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "draw_positions.hpp"
#include "neighbour_source.hpp"

namespace rudder::sample {

// Rows are any type with
//     Row row(VertexId v) const;             where the row of v lies
//     void prefetch_row(VertexId v) const;   what `row` will read
// and a Row, which is small and copied, has
//     EdgeIndex degree;
//     static constexpr std::size_t entry_bytes;
//     const void* entry(EdgeIndex i) const;  what reading entry i reads
//     VertexId operator[](EdgeIndex i) const;

/// How far ahead of their use places of rows, and what stands by vertex, are asked for.
inline constexpr std::size_t place_distance = 16;
inline constexpr std::size_t entry_distance = 32;

[[noreturn]] void throw_too_many_edges();

/// How many a vertex of this degree draws.
[[nodiscard]] inline EdgeIndex draw_count(EdgeIndex degree, std::int32_t fanout,
                                          bool with_replacement) noexcept {
    if (fanout < 0) return degree;
    const auto wanted = static_cast<EdgeIndex>(fanout);
    if (with_replacement) return degree == 0 ? 0 : wanted;
    return degree < wanted ? degree : wanted;
}

/// A degree as batches keep it; those of 2^32 and more are all the largest number.
[[nodiscard]] inline std::uint32_t degree_number(EdgeIndex degree) noexcept {
    constexpr EdgeIndex most = std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(degree < most ? degree : most);
}

/// One request on one kind of rows, in stretches of vertices: the rows of a stretch are looked up
/// (their places were asked for a few vertices before) and its positions drawn, many vertices at a
/// time, and the cache lines that they lie in are asked for; then the entries of the stretch before
/// are read, whose lines have come meanwhile. Nothing but the ids is written to memory.
template <class Rows, class Id>
class RowDrawer {
public:
    RowDrawer(const Rows& rows, const DrawRequest& request, RawVector<std::uint32_t>& offsets,
              RawVector<Id>& ids)
        : rows_(rows),
          request_(request),
          fanout_(request.fanout < 0 ? 0 : static_cast<std::uint32_t>(request.fanout)),
          offsets_(offsets),
          ids_(ids),
          stream_(request.key) {}

    void draw() {
        const std::size_t vertices = request_.vertices.size();
        offsets_.resize(vertices + 1);
        offsets_[0] = 0;
        ids_.resize(ids_.capacity());
        Stretch* now = &stretches_[0];
        Stretch* before = &stretches_[1];
        for (std::size_t next = 0; next < vertices; next = before->end) {
            look_up(*now, next);
            choose(*now);
            read(*before);
            std::swap(now, before);
        }
        read(*before);
        ids_.resize(offsets_[vertices]);
    }

private:
    using Row = decltype(std::declval<const Rows&>().row(VertexId{}));

    /// Of which the longest have so many vertices.
    static constexpr std::size_t longest = 96;
    /// Rows of so many bytes are asked for whole, longer ones entry by entry.
    static constexpr std::size_t line = 64;
    static constexpr std::size_t short_lines = 5;

    enum class Way : std::uint8_t { whole, lane, single };

    struct Stretch {
        std::size_t begin = 0;  ///< of the request's vertices
        std::size_t end = 0;
        std::size_t lanes = 0;  ///< in use
        std::array<Row, longest> rows;
        std::array<Way, longest> ways;
        std::array<Row, draw_lanes> lane_rows;
        LaneGroup group{};
        LanePositions positions;  // written before it is read
    };

    [[nodiscard]] Way way_of(EdgeIndex degree, EdgeIndex count) const noexcept {
        if (request_.fanout < 0 || (count == degree && !request_.with_replacement) || count == 0)
            return Way::whole;
        return count <= lane_fanout_limit && degree <= std::numeric_limits<std::uint32_t>::max()
                   ? Way::lane
                   : Way::single;
    }

    /// Finds the rows of as many vertices as have room, and writes where their entries begin.
    void look_up(Stretch& stretch, std::size_t first) {
        const std::span<const VertexId> vertices = request_.vertices;
        const std::size_t last = vertices.size() - 1;
        const std::size_t most = std::min(vertices.size(), first + longest);
        EdgeIndex sum = offsets_[first];
        std::size_t lanes = 0;
        std::size_t i = first;
        for (; i < most && lanes < draw_lanes; ++i) {
            rows_.prefetch_row(vertices[std::min(i + place_distance, last)]);
            const Row row = rows_.row(vertices[i]);
            const EdgeIndex count =
                draw_count(row.degree, request_.fanout, request_.with_replacement);
            sum += count;
            if (sum > std::numeric_limits<std::uint32_t>::max()) throw_too_many_edges();
            offsets_[i + 1] = static_cast<std::uint32_t>(sum);
            const Way way = way_of(row.degree, count);
            stretch.rows[i - first] = row;
            stretch.ways[i - first] = way;
            if (way == Way::lane) {
                put(stretch, lanes++, vertices[i], row);
            } else if (way == Way::whole && count != 0) {
                __builtin_prefetch(row.entry(0));
                __builtin_prefetch(row.entry(std::min<EdgeIndex>(count - 1, line)));
            }
        }
        stretch.begin = first;
        stretch.end = i;
        stretch.lanes = lanes;
    }

    [[nodiscard]] bool is_short(const Row& row) const noexcept {
        return fanout_ >= short_lines && row.degree * Row::entry_bytes <= short_lines * line;
    }

    void put(Stretch& stretch, std::size_t lane, VertexId vertex, const Row& row) const noexcept {
        stretch.group.low[lane] = static_cast<std::uint32_t>(vertex);
        stretch.group.high[lane] = static_cast<std::uint32_t>(vertex >> 32);
        stretch.group.degree[lane] = static_cast<std::uint32_t>(row.degree);
        stretch.lane_rows[lane] = row;
        if (!is_short(row)) return;
        constexpr std::size_t per_line = line / Row::entry_bytes;
        for (std::size_t i = 0; i <= short_lines; ++i)
            __builtin_prefetch(row.entry(std::min<EdgeIndex>(i * per_line, row.degree - 1)));
    }

    void choose(Stretch& stretch) const noexcept {
        if (stretch.lanes == 0) return;
        draw_positions(code_, stream_.key(), stretch.group, fanout_, request_.with_replacement,
                       stretch.positions);
        for (std::size_t lane = 0; lane < stretch.lanes; ++lane) {
            const Row& row = stretch.lane_rows[lane];
            if (is_short(row)) continue;
            const std::uint32_t* const positions = stretch.positions.data() + lane;
            for (std::uint32_t j = 0; j < fanout_; ++j)
                __builtin_prefetch(row.entry(positions[std::size_t{j} * draw_lanes]));
        }
    }

    /// Room up to the end of a stretch. It grows by halves: memory is kept from draw to draw.
    void make_room(const Stretch& stretch) {
        const std::size_t needed = offsets_[stretch.end];
        if (needed <= ids_.size()) return;
        ids_.reserve(std::max({needed, ids_.size() + ids_.size() / 2, std::size_t{1024}}));
        ids_.resize(ids_.capacity());
    }

    void read(const Stretch& stretch) {
        make_room(stretch);
        std::size_t lane = 0;
        for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
            const Row& row = stretch.rows[i - stretch.begin];
            Id* const to = ids_.data() + offsets_[i];
            const Way way = stretch.ways[i - stretch.begin];
            if (way == Way::lane) {
                const std::uint32_t* const positions = stretch.positions.data() + lane++;
                for (std::uint32_t j = 0; j < fanout_; ++j)
                    to[j] = static_cast<Id>(row[positions[std::size_t{j} * draw_lanes]]);
            } else if (way == Way::whole) {
                const std::uint32_t count = offsets_[i + 1] - offsets_[i];
                for (std::uint32_t j = 0; j < count; ++j)
                    to[j] = static_cast<Id>(row[j]);
            } else {
                read_single(request_.vertices[i], row, {to, offsets_[i + 1] - offsets_[i]});
            }
        }
    }

    /// A vertex whose draws have too many positions, or too large ones, for the lanes.
    void read_single(VertexId vertex, const Row& row, std::span<Id> to) {
        single_positions_.resize(to.size());
        single_.draw(stream_, vertex, row.degree, request_.with_replacement, single_positions_);
        for (std::size_t j = 0; j < to.size(); ++j) {
            __builtin_prefetch(
                row.entry(single_positions_[std::min(j + entry_distance, to.size() - 1)]));
            to[j] = static_cast<Id>(row[single_positions_[j]]);
        }
    }

    const Rows& rows_;
    const DrawRequest& request_;
    std::uint32_t fanout_;
    RawVector<std::uint32_t>& offsets_;
    RawVector<Id>& ids_;
    RandomStream stream_;
    DrawCode code_ = best_draw_code();
    std::array<Stretch, 2> stretches_;
    SingleDraw single_;
    RawVector<EdgeIndex> single_positions_;
};

/// Ids are written in the width of the whole graph's: `out.narrow` or `out.wide`.
template <class Id, class Rows>
void draw_rows(const Rows& rows, const DrawRequest& request, DrawnNeighbours& out) {
    RowDrawer<Rows, Id>(rows, request, out.offsets, out.template ids<Id>()).draw();
}

/// What the entries of a row carry, from its first on; null: nothing, or nobody asks.
struct CarriedRow {
    const float* weights = nullptr;
    const std::int64_t* times = nullptr;
    const std::byte* features = nullptr;
    std::size_t feature_bytes = 0;  ///< of one entry

    /// The same from a later entry on.
    [[nodiscard]] CarriedRow from(EdgeIndex entry) const noexcept {
        return {weights == nullptr ? nullptr : weights + entry,
                times == nullptr ? nullptr : times + entry,
                features == nullptr ? nullptr : features + entry * feature_bytes, feature_bytes};
    }
};

/// The rows of the whole graph, in ids of either width.
template <class Id>
struct WholeRows {
    struct Row {
        const Id* ids;
        EdgeIndex degree;

        static constexpr std::size_t entry_bytes = sizeof(Id);
        [[nodiscard]] const void* entry(EdgeIndex i) const noexcept { return ids + i; }
        [[nodiscard]] VertexId operator[](EdgeIndex i) const noexcept { return ids[i]; }
        [[nodiscard]] Row part_of(EdgeIndex from, EdgeIndex count) const noexcept {
            return {ids + from, count};
        }
    };

    const EdgeIndex* offsets;
    const Id* ids;
    CarriedRow all{};                     ///< of all entries
    const std::uint8_t* types = nullptr;  ///< by entry; null: none

    /// The types of a row's entries, which ascend.
    [[nodiscard]] const std::uint8_t* types_of(VertexId v) const noexcept {
        return types + offsets[v];
    }

    [[nodiscard]] CarriedRow carried(VertexId v) const noexcept { return all.from(offsets[v]); }
    [[nodiscard]] Row row(VertexId v) const noexcept {
        return {ids + offsets[v], offsets[v + 1] - offsets[v]};
    }
    void prefetch_row(VertexId v) const noexcept { __builtin_prefetch(offsets + v); }
};

}  // namespace rudder::sample
