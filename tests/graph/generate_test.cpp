// Generators: the same for the same seed whatever the blocks and threads, and of the shape they
// promise.
#include "graph/generate/generate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

#include "io_support.hpp"

namespace rudder::test {
namespace {

graph::GeneratorOptions sized(VertexId vertices, double degree = 0, std::uint64_t seed = 0) {
    graph::GeneratorOptions options;
    options.vertices = vertices;
    options.degree = degree;
    options.seed = seed;
    return options;
}

std::vector<graph::Edge> all_edges(const graph::Generator& generator) {
    std::vector<graph::Edge> edges(generator.edges());
    generator.fill(0, std::span<graph::Edge>(edges));
    return edges;
}

bool equal(const graph::Edge& a, const graph::Edge& b) {
    return a.source == b.source && a.target == b.target;
}

std::vector<EdgeIndex> degrees_of(const graph::Generator& generator) {
    std::vector<EdgeIndex> degrees(generator.vertices());
    for (const graph::Edge& edge : all_edges(generator)) {
        ++degrees[edge.source];
        ++degrees[edge.target];
    }
    std::ranges::sort(degrees, std::greater<>());
    return degrees;
}

class EveryGenerator : public testing::TestWithParam<const char*> {
protected:
    std::unique_ptr<graph::Generator> make(VertexId vertices, std::uint64_t seed = 0) {
        return graph::make_generator(GetParam(), sized(vertices, 0, seed));
    }
};

TEST_P(EveryGenerator, EdgesDependOnTheirNumberAlone) {
    // Blocks of odd sizes at odd places take other lanes of the vector code than the whole does.
    const auto generator = make(1000, 5);
    const auto whole = all_edges(*generator);
    for (const std::size_t size : {1U, 3U, 16U, 17U, 100U}) {
        for (std::size_t first = 0; first + size <= whole.size(); first += size * 7 + 1) {
            std::vector<graph::Edge> wide(size);
            std::vector<graph::NarrowEdge> narrow(size);
            generator->fill(first, std::span<graph::Edge>(wide));
            generator->fill(first, std::span<graph::NarrowEdge>(narrow));
            for (std::size_t i = 0; i < size; ++i) {
                ASSERT_TRUE(equal(wide[i], whole[first + i])) << first + i;
                ASSERT_EQ(narrow[i].source, whole[first + i].source);
                ASSERT_EQ(narrow[i].target, whole[first + i].target);
            }
        }
    }
}

TEST_P(EveryGenerator, IdsAreInRange) {
    for (const VertexId vertices : {1U, 2U, 3U, 7U, 1000U}) {
        if (vertices < 3 && std::string(GetParam()) == "typed") continue;  // one of each type
        const auto generator = make(vertices);
        for (const graph::Edge& edge : all_edges(*generator)) {
            ASSERT_LT(edge.source, generator->vertices());
            ASSERT_LT(edge.target, generator->vertices());
        }
    }
}

TEST_P(EveryGenerator, TheSameForAnyNumberOfThreads) {
    const auto generator = make(20000, 3);
    set_thread_count(1);
    const graph::BuiltTopology one = graph::generate_topology(*generator, Progress::none());
    set_thread_count(3);
    const graph::BuiltTopology three = graph::generate_topology(*generator, Progress::none());
    set_thread_count(0);
    EXPECT_EQ(rows_of(one.topology.view()), rows_of(three.topology.view()));
}

TEST_P(EveryGenerator, AnotherSeedGivesAnotherGraph) {
    const auto first = all_edges(*make(500, 1));
    const auto second = all_edges(*make(500, 2));
    const bool same = std::ranges::equal(first, second, equal);
    EXPECT_EQ(same, std::string(GetParam()) == "grid");
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryGenerator,
                         testing::Values("rmat", "sbm", "ba", "grid", "typed"),
                         [](const auto& kind) { return std::string(kind.param); });

/// The plain way to an R-MAT edge: one quadrant after the other, and the ids permuted.
graph::Edge plain_rmat(const graph::GeneratorOptions& options, int scale, EdgeIndex number) {
    const RandomStream stream({.purpose = Purpose::generate_edges, .seed = options.seed});
    const auto limit = [](double share) { return static_cast<std::uint32_t>(share * 65536 + 0.5); };
    VertexId source = 0;
    VertexId target = 0;
    for (int level = 0; level < scale; ++level) {
        const auto words = stream.block(number, static_cast<std::uint64_t>(level / 8));
        const std::uint32_t word = words[static_cast<std::size_t>(level % 8 / 2)];
        const std::uint32_t draw = (word >> (level % 2 * 16)) & 0xffffU;
        const int quadrant = draw < limit(options.a)                           ? 0
                             : draw < limit(options.a + options.b)             ? 1
                             : draw < limit(options.a + options.b + options.c) ? 2
                                                                               : 3;
        source = source * 2 + static_cast<VertexId>(quadrant / 2);
        target = target * 2 + static_cast<VertexId>(quadrant % 2);
    }
    const auto keys = stream.block(~VertexId{0}, ~std::uint64_t{0});
    const auto permuted = [&](VertexId v) {
        for (const std::size_t i : {0U, 2U}) {
            v = v * ((std::uint64_t{keys[i]} << 32 | keys[i + 1]) | 1);
            v &= (VertexId{1} << scale) - 1;
            v ^= v >> ((scale + 1) / 2);
        }
        return v;
    };
    return {permuted(source), permuted(target)};
}

TEST(Rmat, VectorsGiveTheSameBitsAsThePlainWay) {
    for (const int scale : {2, 7, 8, 9, 16, 17, 31, 33}) {
        const graph::GeneratorOptions options = sized(VertexId{1} << scale, 4, 11);
        const auto generator = graph::make_generator("rmat", options);
        std::vector<graph::Edge> edges(50);
        for (const EdgeIndex first : {EdgeIndex{0}, generator->edges() - edges.size()}) {
            if (generator->edges() < edges.size()) continue;
            generator->fill(first, std::span<graph::Edge>(edges));
            for (std::size_t i = 0; i < edges.size(); ++i)
                ASSERT_TRUE(equal(edges[i], plain_rmat(options, scale, first + i))) << scale;
        }
    }
}

TEST(Rmat, VerticesAreAPowerOfTwoWithSixteenEdgesEach) {
    EXPECT_EQ(graph::make_generator("rmat", sized(1000))->vertices(), 1024U);
    EXPECT_EQ(graph::make_generator("rmat", sized(1024))->vertices(), 1024U);
    EXPECT_EQ(graph::make_generator("rmat", sized(1025))->vertices(), 2048U);
    EXPECT_EQ(graph::make_generator("rmat", sized(1024))->edges(), 16384U);
    EXPECT_EQ(graph::make_generator("rmat", sized(1024, 2.5))->edges(), 2560U);
    EXPECT_EQ(graph::make_generator("rmat", sized(1))->vertices(), 1U);
}

/// The share of all edge ends that the one percent of the most popular vertices have.
double top_share(const graph::Generator& generator) {
    const auto degrees = degrees_of(generator);
    const auto top = degrees.begin() + static_cast<std::ptrdiff_t>(degrees.size() / 100);
    return static_cast<double>(std::accumulate(degrees.begin(), top, EdgeIndex{0})) /
           static_cast<double>(2 * generator.edges());
}

TEST(Rmat, DegreesAreSkewedAsTheSharesSay) {
    graph::GeneratorOptions options = sized(1 << 14);
    EXPECT_GT(top_share(*graph::make_generator("rmat", options)), 0.15);
    options.a = options.b = options.c = 0.25;  // Erdos and Renyi's graph
    EXPECT_LT(top_share(*graph::make_generator("rmat", options)), 0.03);
}

TEST(Rmat, QuadrantsAreDrawnWithTheirShares) {
    // With shares of 0 or 1 every edge is known: all in the first quadrant is one vertex.
    graph::GeneratorOptions options = sized(256);
    options.a = 1;
    options.b = options.c = 0;
    const auto edges = all_edges(*graph::make_generator("rmat", options));
    for (const graph::Edge& edge : edges)
        ASSERT_TRUE(equal(edge, edges[0]) && edge.source == edge.target);
    options.a = 0;
    options.b = 1;  // source bits all 0, target bits all 1
    const auto corner = all_edges(*graph::make_generator("rmat", options));
    for (const graph::Edge& edge : corner)
        ASSERT_TRUE(equal(edge, corner[0]) && edge.source != edge.target);
}

TEST(BarabasiAlbert, EveryVertexBringsItsEdgesToEarlierOnes) {
    const auto generator = graph::make_generator("ba", sized(5000, 3));
    ASSERT_EQ(generator->edges(), 15000U);
    const auto edges = all_edges(*generator);
    for (std::size_t i = 0; i < edges.size(); ++i) {
        ASSERT_EQ(edges[i].target, i / 3);
        ASSERT_LE(edges[i].source, edges[i].target);
    }
}

TEST(BarabasiAlbert, TheOldAreRich) {
    const auto degrees = degrees_of(*graph::make_generator("ba", sized(20000, 4)));
    EXPECT_GE(degrees.back(), 4U);
    EXPECT_GT(degrees[0], 200U);
    // The power law has exponent 3: of degree at least 8m there are about (1 / 8)^2.
    const auto rich = std::ranges::count_if(degrees, [](EdgeIndex d) { return d >= 32; });
    EXPECT_NEAR(static_cast<double>(rich) / 20000, 1.0 / 64, 0.006);
}

TEST(Grid, IsExactlyKnown) {
    graph::GeneratorOptions options;
    options.rows = 2;
    options.columns = 3;
    const auto generator = graph::make_generator("grid", options);
    const graph::BuiltTopology built = graph::generate_topology(*generator, Progress::none());
    const std::vector<std::vector<VertexId>> rows{{1, 3}, {0, 2, 4}, {1, 5},
                                                  {0, 4}, {1, 3, 5}, {2, 4}};
    EXPECT_EQ(rows_of(built.topology.view()), rows);
}

TEST(Grid, LinesAndSquares) {
    graph::GeneratorOptions options;
    options.rows = 1;
    options.columns = 1;
    EXPECT_EQ(graph::make_generator("grid", options)->edges(), 0U);
    options.columns = 5;
    EXPECT_EQ(graph::make_generator("grid", options)->edges(), 4U);
    std::swap(options.rows, options.columns);
    EXPECT_EQ(graph::make_generator("grid", options)->edges(), 4U);
    EXPECT_EQ(graph::make_generator("grid", sized(100))->vertices(), 100U);
    EXPECT_EQ(graph::make_generator("grid", sized(100))->edges(), 180U);
}

TEST(PlantedCommunities, EdgesStayInsideWithTheirShare) {
    graph::GeneratorOptions options = sized(20000);
    options.classes = 8;
    for (const double inside : {0.0, 0.5, 0.9, 1.0}) {
        options.inside = inside;
        const auto generator = graph::make_generator("sbm", options);
        const auto labels = generator->labels();
        const auto edges = all_edges(*generator);
        const auto within = std::ranges::count_if(
            edges, [&](const graph::Edge& e) { return labels[e.source] == labels[e.target]; });
        // What leaves draws a class at random, so an eighth of it comes back.
        EXPECT_NEAR(static_cast<double>(within) / static_cast<double>(edges.size()),
                    inside + (1 - inside) / 8, 0.01);
    }
}

TEST(PlantedCommunities, LabelsAreInRangeAndEven) {
    graph::GeneratorOptions options = sized(20000);
    options.classes = 10;
    const auto generator = graph::make_generator("sbm", options);
    std::vector<int> sizes(10);
    for (const std::int32_t label : generator->labels()) {
        ASSERT_TRUE(label >= 0 && label < 10);
        ++sizes[static_cast<std::size_t>(label)];
    }
    for (const int size : sizes)
        EXPECT_NEAR(size, 2000, 200);
}

TEST(PlantedCommunities, SkewMakesHubs) {
    graph::GeneratorOptions options = sized(10000);
    options.skew = 1;
    const double even = top_share(*graph::make_generator("sbm", options));
    options.skew = 3;
    EXPECT_GT(top_share(*graph::make_generator("sbm", options)), 3 * even);
}

TEST(PlantedCommunities, MoreClassesThanVertices) {
    graph::GeneratorOptions options = sized(3);
    options.classes = 100;
    EXPECT_EQ(all_edges(*graph::make_generator("sbm", options)).size(), 30U);
}

}  // namespace
}  // namespace rudder::test
