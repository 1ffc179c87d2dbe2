#include "grid.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::graph {

namespace {

VertexId side(VertexId asked, VertexId vertices) {
    if (asked > 0) return asked;
    return std::max<VertexId>(1, static_cast<VertexId>(std::sqrt(static_cast<double>(vertices))));
}

}  // namespace

Grid::Grid(const GeneratorOptions& o)
    : rows_(side(o.rows, o.vertices)), columns_(side(o.columns, o.vertices)) {
    if (rows_ > max_generated_vertices / columns_) {
        throw usage_error(fmt::format("{} x {} vertices are too many", rows_, columns_),
                          "--rows, --columns",
                          fmt::format("give at most {} vertices", max_generated_vertices));
    }
}

Edge Grid::edge(EdgeIndex number) const {
    const EdgeIndex across = rows_ * (columns_ - 1);
    if (number < across) {
        const VertexId row = number / (columns_ - 1);
        const VertexId left = row * columns_ + number % (columns_ - 1);
        return {left, left + 1};
    }
    const VertexId upper = number - across;
    return {upper, upper + columns_};
}

}  // namespace rudder::graph
