// Draws from rows whose entries carry something: by weight, and among those before a time.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "draw_rows.hpp"
#include "neighbour_source.hpp"
#include "shared_numbers.hpp"
#include "weighted_draw.hpp"

namespace rudder::sample {

/// One request on one kind of rows (see RowDrawer) that also have
///     CarriedRow carried(VertexId v) const;
/// vertex by vertex.
template <class Rows, class Id>
class CarriedDrawer {
public:
    CarriedDrawer(const Rows& rows, const DrawRequest& request, DrawnNeighbours& out)
        : rows_(rows),
          request_(request),
          out_(out),
          stream_(request.key),
          numbers_(request.key, request.redraw) {}

    void draw() {
        const std::span<const VertexId> vertices = request_.vertices;
        RawVector<Id>& ids = out_.template ids<Id>();
        out_.offsets.resize(vertices.size() + 1);
        out_.offsets[0] = 0;
        out_.shares.clear();
        out_.features.clear();
        ids.clear();
        for (std::size_t i = 0; i < vertices.size(); ++i) {
            if (i + place_distance < vertices.size())
                rows_.prefetch_row(vertices[i + place_distance]);
            const auto row = rows_.row(vertices[i]);
            const CarriedRow carried = rows_.carried(vertices[i]);
            choose(vertices[i], row, permitted(i, row.degree, carried), carried.weights);
            for (const EdgeIndex position : positions_)
                ids.push_back(static_cast<Id>(row[position]));
            if (request_.weighted)
                out_.shares.insert(out_.shares.end(), shares_.begin(), shares_.end());
            if (request_.features) add_features(carried);
            if (ids.size() > std::numeric_limits<std::uint32_t>::max()) throw_too_many_edges();
            out_.offsets[i + 1] = static_cast<std::uint32_t>(ids.size());
        }
    }

private:
    /// Of the entries at positions_.
    void add_features(const CarriedRow& carried) {
        const std::size_t bytes = carried.feature_bytes;
        const std::size_t before = out_.features.size();
        out_.features.resize(before + positions_.size() * bytes);
        std::byte* to = out_.features.data() + before;
        for (const EdgeIndex position : positions_) {
            std::memcpy(to, carried.features + position * bytes, bytes);
            to += bytes;
        }
    }

    /// How many of the entries come strictly before the vertex's time: rows are in that order.
    [[nodiscard]] EdgeIndex permitted(std::size_t i, EdgeIndex degree,
                                      const CarriedRow& carried) const noexcept {
        if (request_.temporal == Temporal::off) return degree;
        const std::int64_t* const end = carried.times + degree;
        return static_cast<EdgeIndex>(std::lower_bound(carried.times, end, request_.times[i]) -
                                      carried.times);
    }

    /// Sets positions_, and shares_ where the request is weighted, among the first entries of a
    /// row.
    template <class Row>
    void choose(VertexId vertex, const Row& row, EdgeIndex among, const float* weights) {
        const EdgeIndex wanted = draw_count(among, request_.fanout, request_.with_replacement);
        const bool newest = request_.temporal == Temporal::newest;
        if (request_.weighted) {
            const std::span<const float> of(weights, among);
            if (newest) {
                weighted_.take(of, among - wanted, among);
            } else {
                weighted_.draw(stream_, vertex, of, request_.fanout, request_.with_replacement);
            }
            positions_ = weighted_.positions();
            shares_ = weighted_.shares();
            return;
        }
        chosen_.clear();
        if (newest || (wanted == among && !request_.with_replacement)) {
            for (EdgeIndex e = among - wanted; e < among; ++e)
                chosen_.push_back(e);
        } else if (request_.sampler == Sampler::shared) {
            keep_smallest_numbers(row, among, wanted);
        } else {
            chosen_.resize(wanted);
            single_.draw(stream_, vertex, among, request_.with_replacement, chosen_);
        }
        positions_ = chosen_;
    }

    /// The rule of shared numbers, among some entries alone.
    template <class Row>
    void keep_smallest_numbers(const Row& row, EdgeIndex among, EdgeIndex wanted) {
        sorted_.clear();
        for (EdgeIndex e = 0; e < among; ++e)
            sorted_.emplace_back(numbers_.number(row[e]), e);
        std::ranges::nth_element(sorted_, sorted_.begin() + static_cast<std::ptrdiff_t>(wanted));
        sorted_.resize(wanted);
        for (const auto& [number, position] : sorted_)
            chosen_.push_back(position);
        std::ranges::sort(chosen_);
    }

    const Rows& rows_;
    const DrawRequest& request_;
    DrawnNeighbours& out_;
    RandomStream stream_;
    SharedNumbers numbers_;
    WeightedDraw weighted_;
    SingleDraw single_;
    std::vector<EdgeIndex> chosen_;
    std::vector<std::pair<std::uint32_t, EdgeIndex>> sorted_;
    std::span<const EdgeIndex> positions_;
    std::span<const float> shares_;
};

}  // namespace rudder::sample
