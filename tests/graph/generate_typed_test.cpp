// The generated graph of several types: what it promises of types, classes and the way edges mix.
#include <vector>

#include "graph/generate/generate.hpp"

#include "io_support.hpp"

namespace rudder::test {
namespace {

class GenerateTyped : public ImportTest {
protected:
    graph::Dataset generate(graph::GenerateOptions options) {
        options.kind = "typed";
        options.output = folder_ / "out";
        options.existing = Existing::replace;
        graph::generate_dataset(options, Progress::none());
        graph::Dataset data(folder_ / "out");
        data.check();
        return data;
    }
    static graph::GenerateOptions sized(VertexId vertices) {
        graph::GenerateOptions options;
        options.generator.vertices = vertices;
        options.generator.classes = 4;
        return options;
    }
};

TEST_F(GenerateTyped, TypesWidthsAndLabels) {
    const graph::Dataset data = generate(sized(2000));
    const graph::GraphTypes& types = data.info().types;
    ASSERT_EQ(types.vertices.size(), 3U);
    EXPECT_EQ(types.vertices[0].vertices, 1000U);
    EXPECT_EQ(types.vertices[1].vertices, 960U);
    EXPECT_EQ(types.vertices[2].vertices, 40U);
    EXPECT_EQ(data.features(0).info.width, 64U);
    EXPECT_EQ(data.features(1).info.width, 32U);
    EXPECT_EQ(data.features(2).info.width, 16U);
    ASSERT_EQ(types.edges.size(), 6U);
    EXPECT_EQ(types.edges[4].name, "rev_writes");
    EXPECT_EQ(types.edges[4].reverse_of, std::size_t{2});
    EXPECT_EQ(types.edges[2].edges, types.edges[4].edges);
    EXPECT_EQ(data.info().targets.labelled, 1000U) << "papers alone have labels";
    for (VertexId v = 1000; v < 2000; ++v)
        ASSERT_EQ(data.targets().classes[v], graph::no_label);
}

/// Sources of `cites` are of the target's class where `inside` is 1, those of `rejects` of the next
/// one.
TEST_F(GenerateTyped, ClassesMixAsPlanted) {
    graph::GeneratorOptions options;
    options.vertices = 1000;
    options.classes = 5;
    options.inside = 1;
    const auto generator = graph::make_generator("typed", options);
    std::vector<graph::Edge> edges(generator->edges());
    generator->fill(0, std::span<graph::Edge>(edges));
    const auto& types = generator->types();
    const auto class_of = [&](VertexId v) {
        const std::size_t type = types.of(v);
        return generator->classes_of(type)[v - types.vertices[type].first];
    };
    for (std::size_t t = 0; t < generator->edge_types().size(); ++t) {
        const auto& of = generator->edge_types();
        const EdgeIndex last = t + 1 < of.size() ? of[t + 1].first : edges.size();
        for (EdgeIndex e = of[t].first; e < last; ++e) {
            ASSERT_EQ(types.of(edges[e].source), types.edges[t].from);
            ASSERT_EQ(types.of(edges[e].target), types.edges[t].to);
            const std::int32_t shift = types.edges[t].name == "rejects" ? 1 : 0;
            ASSERT_EQ(class_of(edges[e].source), (class_of(edges[e].target) + shift) % 5)
                << types.edges[t].name;
        }
    }
}

TEST_F(GenerateTyped, FeaturesAreChosen) {
    graph::GenerateOptions options = sized(100);
    options.features = "planted:3";
    const graph::Dataset data = generate(options);
    EXPECT_EQ(data.features(0).info.width, 3U);
    EXPECT_EQ(data.features(1).info.width, 1U);
    EXPECT_EQ(data.features(2).info.width, 1U);
    options.features = "none";
    EXPECT_FALSE(generate(options).features(0).info.present());
    options.features = "random:8";
    expect_error([&] { generate(options); }, ErrorKind::usage, {"random:8"});
}

TEST_F(GenerateTyped, WhatCannotBeIsRefused) {
    expect_error([&] { generate(sized(2)); }, ErrorKind::usage, {"--vertices"});
    graph::GenerateOptions options = sized(100);
    options.generator.communities = 3;
    expect_error([&] { generate(options); }, ErrorKind::usage, {"--communities"});
    generate(sized(3));
}

}  // namespace
}  // namespace rudder::test
