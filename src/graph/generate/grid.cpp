#include "rudder/graph/generate/grid.hpp"

#include <algorithm>
#include <cmath>

#include "rudder/core/checked.hpp"

namespace rudder {

namespace {

VertexId side(VertexId asked, VertexId vertices) {
    if (asked > 0) return asked;
    return std::max<VertexId>(1, static_cast<VertexId>(std::sqrt(static_cast<double>(vertices))));
}

}  // namespace

Grid::Grid(const GeneratorOptions& o)
    : rows_(side(o.rows, o.vertices)), columns_(side(o.columns, o.vertices)) {
    static_cast<void>(
        checked_mul(checked_mul(rows_, columns_, "size of the grid"), VertexId{2}, "edges"));
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

}  // namespace rudder
