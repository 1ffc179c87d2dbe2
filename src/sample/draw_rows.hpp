// Draws the neighbours of many vertices from rows, wherever those lie.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>

#include "draw_positions.hpp"
#include "neighbour_source.hpp"

namespace rudder::sample {

/// Where a row is: the code of its first entry (the others follow) and its length.
struct RowPlace {
    EdgeIndex begin;
    EdgeIndex degree;
};

// Rows are any type with
//     RowPlace place(VertexId v) const;          where the row of v is
//     void prefetch_place(VertexId v) const;     what `place` will read
//     VertexId neighbour(EdgeIndex code) const;  the entry of that code
//     void prefetch(EdgeIndex code) const;       what `neighbour` will read

/// How far ahead of their use rows and entries are asked for.
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

/// One request on one kind of rows. First it writes into `out` the codes of the chosen entries,
/// choosing for many vertices at a time; then it replaces each code by what lies there, so that the
/// reads, which miss the caches, are independent of each other and asked for ahead.
template <class Rows>
class RowDrawer {
public:
    RowDrawer(const Rows& rows, const DrawRequest& request, DrawnNeighbours& out)
        : rows_(rows), request_(request), out_(out), stream_(request.key) {}

    void draw() {
        measure();
        choose();
        read();
    }

private:
    /// Fills the offsets.
    void measure() {
        const std::span<const VertexId> vertices = request_.vertices;
        out_.offsets.resize(vertices.size() + 1);
        EdgeIndex sum = 0;
        out_.offsets[0] = 0;
        for (std::size_t i = 0; i < vertices.size(); ++i) {
            if (i + place_distance < vertices.size())
                rows_.prefetch_place(vertices[i + place_distance]);
            sum += draw_count(rows_.place(vertices[i]).degree, request_.fanout,
                              request_.with_replacement);
            if (sum > std::numeric_limits<std::uint32_t>::max()) throw_too_many_edges();
            out_.offsets[i + 1] = static_cast<std::uint32_t>(sum);
        }
        out_.neighbours.resize(sum);
    }

    void choose() {
        const std::span<const VertexId> vertices = request_.vertices;
        for (std::size_t i = 0; i < vertices.size(); ++i) {
            if (i + place_distance < vertices.size())
                rows_.prefetch_place(vertices[i + place_distance]);
            const RowPlace place = rows_.place(vertices[i]);
            EdgeIndex* const codes = out_.neighbours.data() + out_.offsets[i];
            const std::uint32_t count = out_.offsets[i + 1] - out_.offsets[i];
            if (request_.fanout < 0 || (count == place.degree && !request_.with_replacement)) {
                for (std::uint32_t j = 0; j < count; ++j)
                    codes[j] = place.begin + j;
            } else if (count <= lane_fanout_limit &&
                       place.degree <= std::numeric_limits<std::uint32_t>::max()) {
                if (count != 0) enqueue(vertices[i], place, codes);
            } else {
                single_.draw(stream_, vertices[i], place.degree, request_.with_replacement,
                             {codes, count});
                for (std::uint32_t j = 0; j < count; ++j)
                    codes[j] += place.begin;
            }
        }
        flush();
    }

    void enqueue(VertexId vertex, const RowPlace& place, EdgeIndex* codes) noexcept {
        group_.low[pending_] = static_cast<std::uint32_t>(vertex);
        group_.high[pending_] = static_cast<std::uint32_t>(vertex >> 32);
        group_.degree[pending_] = static_cast<std::uint32_t>(place.degree);
        begin_[pending_] = place.begin;
        codes_[pending_] = codes;
        if (++pending_ == draw_lanes) flush();
    }

    void flush() noexcept {
        if (pending_ == 0) return;
        const auto fanout = static_cast<std::uint32_t>(request_.fanout);
        draw_positions(code_, stream_.key(), group_, fanout, request_.with_replacement, positions_);
        for (std::size_t lane = 0; lane < pending_; ++lane) {
            for (std::uint32_t j = 0; j < fanout; ++j)
                codes_[lane][j] = begin_[lane] + positions_[j * draw_lanes + lane];
        }
        pending_ = 0;
    }

    void read() noexcept {
        EdgeIndex* const codes = out_.neighbours.data();
        const std::size_t count = out_.neighbours.size();
        const std::size_t ahead = count > entry_distance ? count - entry_distance : 0;
        std::size_t i = 0;
        for (; i < ahead; ++i) {
            rows_.prefetch(codes[i + entry_distance]);
            codes[i] = rows_.neighbour(codes[i]);
        }
        for (; i < count; ++i)
            codes[i] = rows_.neighbour(codes[i]);
    }

    const Rows& rows_;
    const DrawRequest& request_;
    DrawnNeighbours& out_;
    RandomStream stream_;
    DrawCode code_ = best_draw_code();
    std::size_t pending_ = 0;
    LaneGroup group_{};
    std::array<EdgeIndex, draw_lanes> begin_{};
    std::array<EdgeIndex*, draw_lanes> codes_{};
    LanePositions positions_;  // written before it is read
    SingleDraw single_;
};

template <class Rows>
void draw_rows(const Rows& rows, const DrawRequest& request, DrawnNeighbours& out) {
    RowDrawer<Rows>(rows, request, out).draw();
}

/// The rows of the whole graph, in ids of either width.
template <class Id>
struct WholeRows {
    const EdgeIndex* offsets;
    const Id* ids;

    [[nodiscard]] RowPlace place(VertexId v) const noexcept {
        return {offsets[v], offsets[v + 1] - offsets[v]};
    }
    void prefetch_place(VertexId v) const noexcept { __builtin_prefetch(offsets + v); }
    [[nodiscard]] VertexId neighbour(EdgeIndex code) const noexcept { return ids[code]; }
    void prefetch(EdgeIndex code) const noexcept { __builtin_prefetch(ids + code); }
};

}  // namespace rudder::sample
