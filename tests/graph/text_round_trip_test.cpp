// Random graphs written as METIS, Matrix Market and edge lists, and read back; and what the readers
// refuse, to the letter and the column.
#include <random>

#include <fmt/format.h>

#include "rudder/graph/io/graph_reader.hpp"

#include "io_support.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using Adjacency = std::vector<std::vector<VertexId>>;
/// Every edge as it stands.
constexpr graph::BuildOptions as_written{
    .symmetrise = false, .keep_self_loops = true, .keep_duplicates = true};

class TextRoundTrip : public ImportTest {
protected:
    graph::RawGraph read(const std::string& format, const std::string& text,
                         std::optional<VertexId> vertices = {}) {
        const graph::ReadOptions options{.input = write("graph", text), .vertices = vertices};
        return graph::make_graph_reader(format)->read(options, Progress::none());
    }
    Adjacency read_rows(const std::string& format, const std::string& text,
                        std::optional<VertexId> vertices = {}) {
        const graph::RawGraph read_graph = read(format, text, vertices);
        EXPECT_EQ(read_graph.vertices, read_graph.edges->vertices());
        return rows_of(graph::build_topology(*read_graph.edges, as_written).topology.view());
    }
    /// "problem @ line and column" of a text that is refused.
    std::string refused(const std::string& format, const std::string& text,
                        std::optional<VertexId> vertices = {}) {
        const Refusal refusal = refusal_of([&] { (void)read(format, text, vertices); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        const std::string file = (folder_ / "graph").string();
        if (!refusal.where.starts_with(file)) return "not the file: " + refusal.where;
        return refusal.problem + " @" + refusal.where.substr(file.size());
    }
};

/// METIS text of symmetric rows, with `weights` numbers before each row, and after each neighbour.
std::string metis_text(const Adjacency& rows, const std::string& format, std::size_t weights,
                       bool edge_weights, std::mt19937_64& random) {
    std::size_t entries = 0;
    std::string body;
    for (const auto& row : rows) {
        if (random() % 6 == 0) body += "% a comment\n";
        for (std::size_t i = 0; i < weights; ++i)
            body += fmt::format("{} ", random() % 100);
        for (const VertexId u : row) {
            body += fmt::format("{} ", u + 1);
            if (edge_weights) body += fmt::format("{}\t", random() % 100);
        }
        body += random() % 3 == 0 ? "\r\n" : "\n";
        entries += row.size();
    }
    return fmt::format("% made\n{} {}{}\n", rows.size(), entries / 2, format) + body;
}

TEST_F(TextRoundTrip, MetisWithEveryKindOfWeight) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        std::mt19937_64 random(seed);
        const Adjacency rows =
            naive_rows(random_edges(seed), {.symmetrise = true, .keep_duplicates = seed % 2 == 0});
        const auto text = [&](const std::string& format, std::size_t weights, bool edge_weights) {
            return metis_text(rows, format, weights, edge_weights, random);
        };
        EXPECT_EQ(read_rows("metis", text("", 0, false)), rows) << seed;
        EXPECT_EQ(read_rows("metis", text(" 0", 0, false)), rows) << seed;
        EXPECT_EQ(read_rows("metis", text(" 1", 0, true)), rows) << seed;
        EXPECT_EQ(read_rows("metis", text(" 10", 1, false)), rows) << seed;
        EXPECT_EQ(read_rows("metis", text(" 011 3", 3, true)), rows) << seed;
        EXPECT_EQ(read_rows("metis", text(" 100", 1, false)), rows) << seed;
        EXPECT_EQ(read_rows("metis", text(" 111 2", 3, true)), rows) << seed;
        Adjacency more = rows;
        more.resize(rows.size() + 3);
        EXPECT_EQ(read_rows("metis", text("", 0, false), more.size()), more) << "--vertices";
    }
}

TEST_F(TextRoundTrip, MetisRowsAreNumberedThroughAllPieces) {
    const VertexId vertices = 250000;
    Adjacency ring(vertices);
    for (VertexId v = 0; v < vertices; ++v) {
        ring[v] = {(v + vertices - 1) % vertices, (v + 1) % vertices};
        std::ranges::sort(ring[v]);
    }
    std::mt19937_64 random(1);
    const std::string text = metis_text(ring, "", 0, false, random);
    ASSERT_GT(text.size(), std::size_t{3} << 20) << "must be more than one piece";
    EXPECT_TRUE(read_rows("metis", text) == ring);
}

TEST_F(TextRoundTrip, MatrixMarketOfEveryKind) {
    const std::string banner = "%%MatrixMarket matrix coordinate ";
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        std::mt19937_64 random(seed);
        const RandomEdges edges = random_edges(seed);
        const auto text = [&](const std::string& kind, bool value, bool lower) {
            std::string made = fmt::format("{}{}\n% sizes\n\n{} {} {}\n", banner, kind,
                                           edges.vertices, edges.vertices, edges.edges.size());
            for (const graph::Edge& edge : edges.edges) {
                const bool swap = lower && edge.source < edge.target;
                made += fmt::format("{} {}", (swap ? edge.target : edge.source) + 1,
                                    (swap ? edge.source : edge.target) + 1);
                if (value) made += fmt::format(" {}e-1", random() % 1000);
                made += random() % 5 == 0 ? "\n\n" : "\n";
            }
            return made;
        };
        const Adjacency directed = naive_rows(edges, as_written);
        EXPECT_EQ(read_rows("mtx", text("pattern general", false, false)), directed) << seed;
        EXPECT_EQ(read_rows("mtx", text("REAL General", true, false)), directed) << seed;
        const Adjacency both = naive_rows(
            edges, {.symmetrise = true, .keep_self_loops = true, .keep_duplicates = true});
        EXPECT_EQ(read_rows("mtx", text("pattern symmetric", false, true)), both) << seed;
        EXPECT_EQ(read_rows("mtx", text("integer symmetric", true, true)), both) << seed;
    }
}

TEST_F(TextRoundTrip, EdgeListsWithAnySeparatorCommentsAndMoreColumns) {
    const std::array<std::string, 5> separators{" ", "\t", ",", ";", " ,\t"};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        std::mt19937_64 random(seed);
        const RandomEdges edges = random_edges(seed);
        std::string text;
        for (const graph::Edge& edge : edges.edges) {
            if (random() % 7 == 0) text += random() % 2 == 0 ? "\n" : " # 5 6\n";
            const std::string& separator = separators[random() % separators.size()];
            text += fmt::format("{}{}{}", edge.source, separator, edge.target);
            if (seed % 6 == 0 && random() % 3 == 0) text += separator + "0.5" + separator + "word";
            text += random() % 3 == 0 ? "\r\n" : "\n";
        }
        if (!text.empty() && seed % 2 == 0) text.pop_back();
        const Adjacency want = naive_rows(edges, as_written);
        EXPECT_EQ(read_rows("edges", text, edges.vertices), want) << text;
        EXPECT_EQ(read_rows("csv", text, edges.vertices), want) << text;
        EXPECT_EQ(read_rows("csv", "# c\nsource,target\n" + text, edges.vertices), want) << text;
        EXPECT_EQ(read_rows("edges", gzip(text), edges.vertices), want) << text;
        VertexId bound = 0;
        for (const graph::Edge& edge : edges.edges)
            bound = std::max({bound, edge.source + 1, edge.target + 1});
        EXPECT_EQ(read("edges", text).vertices, bound) << text;
    }
}

TEST_F(TextRoundTrip, IdsOf33BitsAreKept) {
    const graph::RawGraph large =
        read("edges", "1 2\n4294967296 3\n4 4294967295\n", VertexId{1} << 40);
    std::vector<graph::Edge> narrow;
    std::vector<graph::Edge> wide;
    large.edges->walk(
        [&](std::span<const graph::NarrowEdge> edges) {
            for (const auto& edge : edges)
                narrow.push_back({edge.source, edge.target});
        },
        [&](std::span<const graph::Edge> edges) {
            wide.insert(wide.end(), edges.begin(), edges.end());
        });
    EXPECT_EQ(narrow, (std::vector<graph::Edge>{{1, 2}}));
    EXPECT_EQ(wide, (std::vector<graph::Edge>{{4294967296, 3}, {4, 4294967295}}));
    EXPECT_EQ(large.vertices, VertexId{1} << 40);
}

TEST_F(TextRoundTrip, MetisRefused) {
    const auto said = [&](const std::string& text) { return refused("metis", text); };
    EXPECT_EQ(said(""), "the file has no header line @, line 1, column 1");
    EXPECT_EQ(said("% a\n\n"), "the file has no header line @, line 3, column 1");
    EXPECT_EQ(said("3\n"), "the line ends where a number is expected @, line 1, column 2");
    EXPECT_EQ(said("4294967297 1\n"), "more than 2^32 vertices @, line 1, column 12");
    EXPECT_EQ(said("3 2 0001\n"), "invalid METIS format code: '0001' @, line 1, column 5");
    EXPECT_EQ(said("% c\n3 2 12\n"), "invalid METIS format code: '12' @, line 2, column 5");
    EXPECT_EQ(said("3 2 010 1025\n"), "too many weights per vertex @, line 1, column 9");
    EXPECT_EQ(said("2 1\n2\n0\n"), "neighbour 0 is out of range 1..2 @, line 3, column 1");
    EXPECT_EQ(said("2 1\n2\n% c\n1 3\n"), "neighbour 3 is out of range 1..2 @, line 4, column 3");
    EXPECT_EQ(said("2 1 1\n2 9\n1\n"),
              "the line ends where a number is expected @, line 3, column 2");
    EXPECT_EQ(said("2 1 10\n1 2\n\n"),
              "the line ends where a number is expected @, line 3, column 1");
    EXPECT_EQ(said("2 1\n2\n1\n\n"),
              "there are 3 lines of neighbours, the header says 2 vertices @, line 5");
    EXPECT_EQ(said("2 2\n2\n1\n"), "there are 2 neighbours, the header says 2 edges @, line 4");
}

TEST_F(TextRoundTrip, MatrixMarketRefused) {
    const auto said = [&](const std::string& text) { return refused("mtx", text); };
    const std::string banner = "%%MatrixMarket matrix coordinate pattern general\n";
    EXPECT_EQ(said("3 3 1\n"), "not a Matrix Market file @, line 1, column 1");
    EXPECT_EQ(said("%%MatrixMarket vector coordinate real general\n"),
              "only matrices are read @, line 1, column 16");
    EXPECT_EQ(said("%%MatrixMarket matrix array real general\n"),
              "the 'array' format is a dense matrix, not a graph @, line 1, column 23");
    EXPECT_EQ(said("%%MatrixMarket matrix sparse real general\n"),
              "unknown format 'sparse' @, line 1, column 23");
    EXPECT_EQ(said("%%MatrixMarket matrix coordinate Complex general\n"),
              "values of kind 'complex' are not read @, line 1, column 34");
    EXPECT_EQ(said("%%MatrixMarket matrix coordinate real hermitian\n"),
              "symmetry 'hermitian' is not read @, line 1, column 39");
    EXPECT_EQ(said("%%MatrixMarket matrix coordinate real\n"),
              "the line ends where a number is expected @, line 1, column 38");
    EXPECT_EQ(said(banner), "the file ends before the line of sizes @, line 2, column 1");
    EXPECT_EQ(said(banner + "% c\n3 4 0\n"),
              "invalid adjacency matrix: 3 x 4, not square @, line 3, column 1");
    EXPECT_EQ(said(banner + "4611686018427387904 4611686018427387904 0\n"),
              "the matrix is too large @, line 2, column 1");
    EXPECT_EQ(said(banner + "3 3 1\n1 0\n"), "index 0 is out of range 1..3 @, line 3, column 3");
    EXPECT_EQ(said(banner + "3 3 1\n4 1\n"), "index 4 is out of range 1..3 @, line 3, column 1");
    EXPECT_EQ(said(banner + "3 3 1\n1 2 5\n"), "the line has too many numbers @, line 3, column 1");
    EXPECT_EQ(said(banner + "3 3 2\n1 2\n"), "there are 1 entries, the header says 2 @, line 4");
    EXPECT_EQ(said(banner + "3 3 0\n1 2\n"), "there are 1 entries, the header says 0 @, line 4");
}

TEST_F(TextRoundTrip, EdgeListsRefused) {
    EXPECT_EQ(refused("edges", "0 1\n5 2\n", 5), "id 5 is out of range 0..4 @, line 2, column 1");
    EXPECT_EQ(refused("edges", "0 1\n", 0), "id 0 in a graph without vertices @, line 1, column 1");
    EXPECT_EQ(refused("edges", "1 4611686018427387904\n"),
              "id 4611686018427387904 is too large @, line 1, column 3");
    EXPECT_EQ(refused("csv", "a,b\nc,d\n"), "invalid integer: 'c' @, line 2, column 1");
    EXPECT_EQ(refused("edges", "a,b\n1,2\n"), "invalid integer: 'a' @, line 1, column 1");
    EXPECT_EQ(refused("edges", "0 5000000\n"),
              "5000001 vertices cannot be meant in an input of this size @");
}

}  // namespace
}  // namespace rudder::test
