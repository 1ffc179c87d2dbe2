#include "generator.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"
#include "rudder/core/text.hpp"

#include "planted.hpp"
#include "rmat.hpp"
#include "typed_communities.hpp"

namespace rudder::graph {

namespace {

/// Barabasi and Albert's model: each vertex brings `degree` edges, whose other ends are ends of
/// earlier edges chosen at random. An end is found by following the draws backwards, without
/// communication or memory (Sanders and Schulz, IPL 2016).
class BarabasiAlbert final : public EdgeByEdge<BarabasiAlbert> {
public:
    explicit BarabasiAlbert(const GeneratorOptions& options);
    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override { return vertices_ * per_vertex_; }
    [[nodiscard]] Edge edge(EdgeIndex number) const;

private:
    VertexId vertices_;
    EdgeIndex per_vertex_;
    RandomStream stream_;
};

constexpr double default_degree = 4;

BarabasiAlbert::BarabasiAlbert(const GeneratorOptions& o)
    : vertices_(o.vertices),
      per_vertex_(
          std::max<EdgeIndex>(1, static_cast<EdgeIndex>(o.degree > 0 ? o.degree : default_degree))),
      stream_({.purpose = Purpose::generate_edges, .seed = o.seed}) {}

Edge BarabasiAlbert::edge(EdgeIndex number) const {
    // Ends are numbered 2e (the vertex that brings edge e) and 2e + 1 (what it attaches to, which
    // is a copy of an earlier end).
    EdgeIndex end = 2 * number + 1;
    while (end % 2 == 1)
        end = Draws(stream_, end).below(end);
    return {end / 2 / per_vertex_, number / per_vertex_};
}

/// rows x columns vertices in row order, each joined to its right and lower neighbour.
class Grid final : public EdgeByEdge<Grid> {
public:
    explicit Grid(const GeneratorOptions& options);
    [[nodiscard]] VertexId vertices() const override { return rows_ * columns_; }
    [[nodiscard]] EdgeIndex edges() const override {
        return rows_ * (columns_ - 1) + (rows_ - 1) * columns_;
    }
    [[nodiscard]] Edge edge(EdgeIndex number) const;

private:
    VertexId rows_;
    VertexId columns_;
};

VertexId side(VertexId asked, VertexId vertices) {
    if (asked > 0) return asked;
    return std::max<VertexId>(1, static_cast<VertexId>(std::sqrt(static_cast<double>(vertices))));
}

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

constexpr std::array<GeneratorName, 5> names{{
    {"rmat", "R-MAT, power-law degrees"},
    {"sbm", "planted communities, with features, labels and splits"},
    {"ba", "Barabasi-Albert, preferential attachment"},
    {"grid", "two-dimensional grid"},
    {"typed", "papers, authors, venues: several types, planted classes"},
}};

}  // namespace

std::span<const GeneratorName> generator_names() {
    return names;
}

std::unique_ptr<Generator> make_generator(std::string_view kind, const GeneratorOptions& options) {
    if (options.vertices == 0) {
        throw usage_error("a graph needs a vertex", "--vertices", "give a number from 1 on");
    }
    if (options.vertices > max_generated_vertices) {
        throw usage_error(fmt::format("{} vertices are too many", options.vertices), "--vertices",
                          fmt::format("give at most {}", max_generated_vertices));
    }
    if (!(options.degree >= 0 && options.degree <= 1e6)) {
        throw usage_error(fmt::format("{} edges per vertex", options.degree), "--degree",
                          "give a number from 0 to 1,000,000");
    }
    if (kind == "rmat") return std::make_unique<Rmat>(options);
    if (kind == "sbm") return std::make_unique<PlantedCommunities>(options);
    if (kind == "ba") return std::make_unique<BarabasiAlbert>(options);
    if (kind == "grid") return std::make_unique<Grid>(options);
    if (kind == "typed") return std::make_unique<TypedCommunities>(options);
    std::array<std::string_view, names.size()> known;
    for (std::size_t i = 0; i < names.size(); ++i)
        known[i] = names[i].name;
    throw usage_error(fmt::format("unknown kind of graph '{}'", kind), "generate",
                      fmt::format("use one of {}", join(known, ", ")));
}

}  // namespace rudder::graph
