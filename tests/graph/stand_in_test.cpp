// Stand-ins for published data sets: as many vertices and edges, degrees, classes and training
// vertices as they promise, at any scale.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "graph/generate/planted.hpp"
#include "graph/generate/stand_ins.hpp"
#include "rudder/core/parallel.hpp"

#include "io_support.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

graph::GenerateOptions like(const std::string& name, double scale) {
    graph::GenerateOptions options;
    options.kind = "like:" + name;
    options.scale = scale;
    return options;
}

graph::BuiltTopology built(const graph::GenerateOptions& options) {
    const graph::GenerateOptions made = graph::stand_in_options(options);
    return graph::generate_topology(*graph::make_generator(made.kind, made.generator),
                                    Progress::none());
}

std::vector<EdgeIndex> degrees(const graph::BuiltTopology& graph) {
    std::vector<EdgeIndex> all;
    const auto offsets = graph.topology.view().offsets;
    for (std::size_t v = 0; v + 1 < offsets.size(); ++v)
        all.push_back(offsets[v + 1] - offsets[v]);
    std::ranges::sort(all);
    return all;
}

class EveryStandIn : public testing::TestWithParam<graph::StandIn> {
protected:
    /// About 4,000 vertices; of reddit, whose vertices have 492 neighbours each, 7,000.
    [[nodiscard]] static double scale() {
        const double small = GetParam().name == "reddit" ? 7000 : 4000;
        return small / static_cast<double>(GetParam().vertices);
    }
};

TEST_P(EveryStandIn, HasVerticesEdgesAndClassesAsPublished) {
    const graph::StandIn& data = GetParam();
    const graph::GenerateOptions options =
        graph::stand_in_options(like(std::string(data.name), scale()));
    const auto generator = graph::make_generator(options.kind, options.generator);
    const graph::BuiltTopology graph = graph::generate_topology(*generator, Progress::none());
    const double vertices = static_cast<double>(data.vertices) * scale();
    EXPECT_NEAR(static_cast<double>(generator->vertices()), vertices, 1);
    // Repeated edges are dropped, so more are drawn; how many more follows from a few draws.
    const double edges = static_cast<double>(data.edges) * scale();
    EXPECT_NEAR(static_cast<double>(graph.topology.view().edges()) / 2 / edges, 1, 0.02);
    const auto labels = generator->labels();
    ASSERT_EQ(labels.size(), generator->vertices());
    EXPECT_EQ(std::set<std::int32_t>(labels.begin(), labels.end()).size(), data.classes);
    EXPECT_EQ(options.features, fmt::format("planted:{}", data.features));
    ASSERT_TRUE(options.split);
    EXPECT_EQ(std::get<graph::SplitFractions>(*options.split).train, data.split.train);
}

INSTANTIATE_TEST_SUITE_P(StandIns, EveryStandIn,
                         testing::ValuesIn(graph::stand_ins().begin(), graph::stand_ins().end()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(StandIn, DegreesHaveThePublishedMedians) {
    // Of arxiv the median degree is 6, of products 26: a graph of even degrees has the mean, 14 and
    // 51.
    const auto arxiv = degrees(built(like("arxiv", 0.05)));
    EXPECT_NEAR(static_cast<double>(arxiv[arxiv.size() / 2]), 6, 1.5);
    const auto products = degrees(built(like("products", 0.004)));
    EXPECT_NEAR(static_cast<double>(products[products.size() / 2]), 26, 4);
    EXPECT_GT(products.back(), 10 * products[products.size() / 2]);
}

TEST(StandIn, IsTheSameOnAnyNumberOfThreads) {
    set_thread_count(1);
    const auto once = built(like("arxiv", 0.01));
    set_thread_count(3);
    const auto again = built(like("arxiv", 0.01));
    set_thread_count(0);
    EXPECT_TRUE(std::ranges::equal(once.topology.view().offsets, again.topology.view().offsets));
}

TEST(StandIn, CommunitiesBelongToClasses) {
    graph::GeneratorOptions options;
    options.vertices = 600;
    options.classes = 6;
    options.communities = 30;
    options.inside = 1;
    const graph::PlantedCommunities many(options);
    // Edges stay in a community, so in its class.
    for (EdgeIndex e = 0; e < many.edges(); ++e) {
        const graph::Edge edge = many.edge(e);
        EXPECT_EQ(many.labels()[edge.source], many.labels()[edge.target]);
    }
    options.communities = 4;  // fewer than classes: 0 and 4 share a community, 1 and 5 as well
    const graph::PlantedCommunities few(options);
    const auto labels = few.labels();
    EXPECT_EQ(std::set<std::int32_t>(labels.begin(), labels.end()).size(), 6U);
    for (EdgeIndex e = 0; e < few.edges(); ++e) {
        const graph::Edge edge = few.edge(e);
        EXPECT_EQ(labels[edge.source] % 4, labels[edge.target] % 4);
    }
}

TEST(StandIn, AsManyCommunitiesAsClassesAreWhatClassesAloneAre) {
    graph::GeneratorOptions options;
    options.vertices = 500;
    const graph::PlantedCommunities plain(options);
    options.communities = options.classes;
    const graph::PlantedCommunities same(options);
    EXPECT_TRUE(std::ranges::equal(plain.labels(), same.labels()));
    for (EdgeIndex e = 0; e < plain.edges(); ++e)
        EXPECT_EQ(plain.edge(e).target, same.edge(e).target);
}

TEST(StandIn, WhatCannotBeIsRefused) {
    const Refusal unknown =
        refusal_of([] { static_cast<void>(graph::stand_in_options(like("arxive", 1))); });
    EXPECT_EQ(unknown.kind, ErrorKind::usage);
    EXPECT_EQ(unknown.problem, "unknown stand-in 'like:arxive'");
    EXPECT_THAT(unknown.remedy, testing::HasSubstr("like:arxiv, like:reddit"));
    for (const double scale : {0.0, -1.0, 1.5, std::nan("")}) {
        const Refusal refused =
            refusal_of([&] { static_cast<void>(graph::stand_in_options(like("arxiv", scale))); });
        EXPECT_EQ(refused.where, "--scale");
    }
    // 23 vertices cannot have 492 neighbours each.
    const Refusal tiny = refusal_of([] { static_cast<void>(built(like("reddit", 1e-4))); });
    EXPECT_EQ(tiny.kind, ErrorKind::usage);
    EXPECT_THAT(tiny.problem, testing::HasSubstr("have no room for"));
}

}  // namespace
}  // namespace rudder::test
