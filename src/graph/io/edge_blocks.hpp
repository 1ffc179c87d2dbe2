// Edges as readers hold them: blocks of pairs, two columns of ids, or lines of two ids each.
#pragma once

#include <string>
#include <vector>

#include "rudder/core/id_array.hpp"
#include "rudder/graph/topology_builder.hpp"

#include "text_input.hpp"

namespace rudder::graph {

/// Edges of one piece of text: narrow until an id needs more.
struct EdgeBlock {
    std::vector<NarrowEdge> narrow;
    std::vector<Edge> wide;
    VertexId bound = 0;  ///< every id is below this

    void add(VertexId source, VertexId target) {
        bound = std::max(bound, std::max(source, target) + 1);
        if (bound > (VertexId{1} << 32)) {
            wide.push_back({source, target});
        } else {
            narrow.push_back(
                {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(target)});
        }
    }
};

/// Blocks of edges as a source.
class EdgeBlocks final : public EdgeSource {
public:
    EdgeBlocks(VertexId vertices, std::vector<EdgeBlock> blocks)
        : vertices_(vertices), blocks_(std::move(blocks)) {}
    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override;
    void walk(Narrow narrow, Wide wide) const override;

private:
    VertexId vertices_;
    std::vector<EdgeBlock> blocks_;
};

/// Edge sets, each as a column of sources and one of targets, as NumPy users keep them.
class EdgeColumns final : public NumberedEdges {
public:
    explicit EdgeColumns(VertexId vertices) : vertices_(vertices) {}
    /// Adds a set; both columns have the same length, and ids below `vertices`.
    void add(IdArray sources, IdArray targets);
    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override;
    void walk_numbered(NarrowFrom narrow, WideFrom wide) const override;

private:
    VertexId vertices_;
    std::vector<std::pair<IdArray, IdArray>> sets_;
};

/// Refuses a number of vertices that nothing in the input justifies, before memory is asked for:
/// `evidence` is how many bytes or edges speak for them.
void check_vertex_count(VertexId vertices, std::uint64_t evidence, const std::string& where);

/// The number of vertices of an edge list: as given, else the largest id and one. An id that is not
/// below the given number is the caller's to find.
[[nodiscard]] VertexId bound_of(const std::vector<EdgeBlock>& blocks);

/// Reads an id that must be below `limit`.
[[nodiscard]] VertexId read_id(LineCursor& cursor, VertexId limit);

/// Parses the rest of a text as edges, one per line; blank lines and comments are passed over,
/// words after the second ignored (said once). Ids must be below `limit`.
[[nodiscard]] std::vector<EdgeBlock> parse_edge_lines(TextInput& text, VertexId limit,
                                                      Progress& progress);

/// Ids without a known bound are below this.
inline constexpr VertexId any_id = VertexId{1} << 62;

}  // namespace rudder::graph
