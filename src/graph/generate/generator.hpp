// Generators of graphs: each edge is a function of the seed and its number, so that any thread can
// make any edge.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rudder/core/types.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/topology_builder.hpp"

namespace rudder::graph {

/// No more can be asked for, so that numbers of edges fit 64 bits.
inline constexpr VertexId max_generated_vertices = VertexId{1} << 40;

/// What to generate. A generator reads the fields that concern it.
struct GeneratorOptions {
    VertexId vertices = 10000;  ///< rmat: rounded up to a power of two; grid: see rows, columns
    double degree = 0;          ///< edges drawn per vertex; 0: the generator's default
    std::uint64_t seed = 0;
    double a = 0.57;  ///< rmat: the shares of three of the four quadrants
    double b = 0.19;
    double c = 0.19;
    std::uint64_t classes = 10;  ///< sbm: of vertices
    /// sbm: planted ones; 0: as many as classes. Each belongs to one class, or, where there are
    /// fewer than classes, to several.
    std::uint64_t communities = 0;
    /// sbm: the graph is to have about so many edges besides repeats and loops, whatever `degree`
    /// says; 0: it has those that are drawn.
    EdgeIndex distinct_edges = 0;
    double inside = 0.8;  ///< sbm: share of edges drawn inside a community
    double skew = 1.5;    ///< sbm: 1 is even degrees, more makes some vertices popular
    VertexId rows = 0;    ///< grid: 0 takes the square root of `vertices`
    VertexId columns = 0;
};

/// A graph's edges by number. All calls are thread-safe.
class Generator {
public:
    virtual ~Generator() = default;
    [[nodiscard]] virtual VertexId vertices() const = 0;
    /// Edges drawn; those stored may be fewer, since duplicates and self loops are dropped.
    [[nodiscard]] virtual EdgeIndex edges() const = 0;
    /// Writes edges first, first + 1, ... of either width; the narrow one only where ids fit.
    virtual void fill(EdgeIndex first, std::span<NarrowEdge> out) const = 0;
    virtual void fill(EdgeIndex first, std::span<Edge> out) const = 0;
    /// The planted class of each vertex; empty where there is none.
    [[nodiscard]] virtual std::span<const std::int32_t> labels() const { return {}; }
    /// The types of a kind that has several, the edges of each, and the planted class of each
    /// vertex of a type, also of those whose classes are not told.
    [[nodiscard]] virtual const GraphTypes& types() const {
        static const GraphTypes none;
        return none;
    }
    [[nodiscard]] virtual std::span<const EdgesOfType> edge_types() const { return {}; }
    [[nodiscard]] virtual std::span<const std::int32_t> classes_of(std::size_t /*type*/) const {
        return {};
    }
};

/// Writes both widths of `fill` in terms of `Body::edge(EdgeIndex) -> Edge`.
template <class Body>
class EdgeByEdge : public Generator {
public:
    void fill(EdgeIndex first, std::span<NarrowEdge> out) const override {
        for (NarrowEdge& slot : out) {
            const Edge edge = static_cast<const Body*>(this)->edge(first++);
            slot = {static_cast<std::uint32_t>(edge.source),
                    static_cast<std::uint32_t>(edge.target)};
        }
    }
    void fill(EdgeIndex first, std::span<Edge> out) const override {
        for (Edge& slot : out)
            slot = static_cast<const Body*>(this)->edge(first++);
    }
};

/// The generator of that name; a usage Error listing the known ones otherwise.
[[nodiscard]] std::unique_ptr<Generator> make_generator(std::string_view kind,
                                                        const GeneratorOptions& options);

/// A generator's name and what it makes, in a few words.
struct GeneratorName {
    std::string_view name;
    std::string_view summary;
};
[[nodiscard]] std::span<const GeneratorName> generator_names();

}  // namespace rudder::graph
