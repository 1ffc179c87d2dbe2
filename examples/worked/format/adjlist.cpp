// rudder with one more format, 'adjlist': NetworkX's adjacency lists, a line per vertex with its
// neighbours behind it; what follows a '#' is a comment.
#include <array>
#include <fstream>

#include "rudder/cli/program.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/io/format_registry.hpp"

namespace {

/// Edges that it owns, shown as EdgeSpan shows those of others.
class OwnedEdges final : public rudder::graph::EdgeSource {
public:
    OwnedEdges(rudder::VertexId vertices, std::vector<rudder::graph::Edge> edges)
        : edges_(std::move(edges)), view_(vertices, std::span<const rudder::graph::Edge>(edges_)) {}
    [[nodiscard]] rudder::VertexId vertices() const override { return view_.vertices(); }
    [[nodiscard]] rudder::EdgeIndex edges() const override { return edges_.size(); }
    void walk(Narrow narrow, Wide wide) const override { view_.walk(narrow, wide); }

private:
    std::vector<rudder::graph::Edge> edges_;
    rudder::graph::EdgeSpan view_;
};

class AdjacencyReader final : public rudder::graph::GraphReader {
public:
    [[nodiscard]] rudder::graph::RawGraph read(const rudder::graph::ReadOptions& options,
                                               rudder::Progress& /*progress*/) const override {
        std::ifstream file(options.input);
        if (!file)
            throw rudder::input_error("cannot open it", options.input.string(), "check the path");
        std::vector<rudder::graph::Edge> edges;
        rudder::VertexId vertices = options.vertices.value_or(0);
        std::uint64_t number = 0;
        for (std::string line; std::getline(file, line);) {
            const std::string where = options.input.string() + ", line " + std::to_string(++number);
            line.resize(std::min(line.find('#'), line.size()));
            std::optional<rudder::VertexId> source;
            for (const std::string_view word : rudder::split(line, ' ')) {
                if (word.empty()) continue;
                const auto id = rudder::parse_u64(word);
                if (!id || *id >= most_) {
                    throw rudder::input_error("invalid vertex: '" + std::string(word) + "'", where,
                                              "number vertices from 0, blanks between them");
                }
                vertices = std::max(vertices, *id + 1);
                if (source) edges.push_back({*source, *id});
                if (!source) source = *id;
            }
        }
        rudder::graph::RawGraph graph;
        graph.vertices = vertices;
        graph.edges = std::make_unique<OwnedEdges>(vertices, std::move(edges));
        return graph;
    }

private:
    static constexpr rudder::VertexId most_ = rudder::VertexId{1} << 32U;
};

std::unique_ptr<rudder::graph::GraphReader> make() {
    return std::make_unique<AdjacencyReader>();
}

constexpr std::array<std::string_view, 1> suffixes{".adjlist"};

}  // namespace

int main(int argc, char** argv) {
    rudder::graph::register_graph_format({"adjlist", suffixes, make});
    return rudder::cli::run_program({argv + 1, argv + argc});
}
