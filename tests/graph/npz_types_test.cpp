// Archives of graphs of several types: what is read, that an export is read back, what is refused.
#include <algorithm>

#include "graph/generate/generate.hpp"
#include "graph/io/export.hpp"

#include "io_support.hpp"

namespace rudder::test {
namespace {

using TypedNumber = std::int64_t;

/// A column of texts as NumPy keeps them.
std::string texts(const std::vector<std::string>& words) {
    std::size_t longest = 1;
    for (const std::string& word : words)
        longest = std::max(longest, word.size());
    std::vector<char32_t> letters(words.size() * longest, U'\0');
    for (std::size_t i = 0; i < words.size(); ++i)
        std::ranges::copy(words[i], letters.begin() + static_cast<std::ptrdiff_t>(i * longest));
    return NpyBytes{"<U" + std::to_string(longest), "(" + std::to_string(words.size()) + ",)",
                    raw(letters)}
        .str();
}

/// Two users and three items; users buy items and know each other. Edges are not in the order of
/// type.
std::vector<ZipEntry> shop() {
    return {{"node_types", texts({"user", "item"})},
            {"edge_types", texts({"user buys item", "user knows user"})},
            {"node_type", npy<TypedNumber>({0, 0, 1, 1, 1})},
            {"src", npy<TypedNumber>({0, 0, 1, 1})},
            {"dst", npy<TypedNumber>({2, 1, 4, 3})},
            {"edge_type", npy<TypedNumber>({0, 1, 0, 0})},
            {"edge_weight", npy<float>({1, 2, 3, 4})},
            {"x_item", npy<float>({1, 2, 3, 4, 5, 6}, 2)},
            {"y", npy<TypedNumber>({-1, -1, 0, 1, 1})}};
}

class NpzTypes : public ImportTest {
protected:
    graph::Dataset open(const std::vector<ZipEntry>& entries, bool directed = false) {
        graph::ImportOptions options{.input = write_npz(entries), .output = {}};
        options.directed = directed;
        return import(options);
    }
    void refuse_with(ZipEntry other, std::initializer_list<std::string> words) {
        auto entries = shop();
        const auto same = std::ranges::find(entries, other.name, &ZipEntry::name);
        if (same != entries.end()) {
            *same = std::move(other);
        } else {
            entries.push_back(std::move(other));
        }
        refuse(write_npz(entries), words);
    }
};

TEST_F(NpzTypes, ArraysBecomeTypes) {
    const graph::Dataset data = open(shop());
    const graph::GraphTypes& types = data.info().types;
    ASSERT_EQ(types.vertices.size(), 2U);
    EXPECT_EQ(types.vertices[1].first, 2U);
    EXPECT_EQ(types.vertices[1].vertices, 3U);
    EXPECT_EQ(types.vertices[0].features.width, 0U);
    EXPECT_EQ(types.vertices[1].features.width, 2U);
    EXPECT_EQ(types.vertices[1].labelled, 3U);
    ASSERT_EQ(types.edges.size(), 3U);
    EXPECT_EQ(types.edges[2].name, "rev_buys");
    EXPECT_EQ(types.edges[2].reverse_of, 0U);
    EXPECT_EQ(types.edges[0].edges, 3U);
    EXPECT_EQ(types.edges[1].edges, 2U);  // both ways
    // Vertex 1 is known by 0, and what it bought, 3 and 4, goes back.
    const auto graph = data.topology();
    ASSERT_EQ(graph.offsets[2] - graph.offsets[1], 3U);
    EXPECT_EQ(data.edge_data().type[graph.offsets[1]], 1U);
    EXPECT_EQ(data.edge_data().weight[graph.offsets[1]], 2.0F);
    EXPECT_EQ(graph.neighbours[graph.offsets[1] + 1], 3U);
    EXPECT_EQ(data.edge_data().type[graph.offsets[1] + 1], 2U);
    EXPECT_EQ(data.edge_data().weight[graph.offsets[1] + 1], 4.0F);
    const graph::FeatureView rows = data.features(1);
    EXPECT_EQ(rows.rows, 3U);
}

TEST_F(NpzTypes, OneWay) {
    const graph::Dataset data = open(shop(), true);
    EXPECT_FALSE(data.info().symmetric);
    EXPECT_EQ(data.info().types.edges.size(), 2U);
    EXPECT_EQ(data.info().edges, 4U);
}

/// Names of types that go back stand in an export; their edges do not.
TEST_F(NpzTypes, AnExportIsReadBack) {
    graph::GenerateOptions options;
    options.kind = "typed";
    options.output = folder_ / "made";
    options.generator.vertices = 300;
    options.features = "planted:6";
    graph::generate_dataset(options, Progress::none());
    const graph::Dataset made(options.output);
    graph::ExportOptions to;
    to.input = options.output;
    to.output = folder_ / "made.npz";
    graph::export_dataset(to);
    const graph::Dataset again = import(folder_ / "made.npz");
    ASSERT_TRUE(again.info().types.same_kinds(made.info().types));
    EXPECT_TRUE(std::ranges::equal(again.topology().offsets, made.topology().offsets));
    EXPECT_TRUE(std::ranges::equal(again.edge_data().type, made.edge_data().type));
    ASSERT_EQ(again.topology().edges(), made.topology().edges());
    for (EdgeIndex e = 0; e < made.topology().edges(); ++e)
        EXPECT_EQ(again.topology().neighbours[e], made.topology().neighbours[e]);
    for (std::size_t t = 0; t < made.info().types.vertices.size(); ++t) {
        EXPECT_TRUE(std::ranges::equal(again.features(t).bytes(), made.features(t).bytes()));
    }
    EXPECT_TRUE(std::ranges::equal(again.targets().classes, made.targets().classes));
    EXPECT_TRUE(std::ranges::equal(again.roles(), made.roles()));
}

TEST_F(NpzTypes, WhatIsRefused) {
    refuse_with({"node_type", npy<TypedNumber>({0, 1, 0, 1, 1})}, {"descend", "position 2"});
    refuse_with({"node_type", npy<TypedNumber>({0, 0, 1, 1, 2})},
                {"invalid type: 2 at position 4"});
    refuse_with({"edge_type", npy<TypedNumber>({0, 1, 0, -1})}, {"invalid type: -1 at position 3"});
    refuse_with({"edge_type", npy<TypedNumber>({0, 1, 0})}, {"3 types for 4 edges"});
    refuse_with({"edge_type", npy<TypedNumber>({0, 0, 0, 0})}, {"edge 1 from 0 to 1", "'buys'"});
    refuse_with({"edge_types", texts({"user buys item", "user knows"})}, {"'user knows'"});
    refuse_with({"edge_types", texts({"user buys item", "user knows shop"})}, {"'shop'"});
    refuse_with({"edge_types", texts({"user buys item", "user buys user"})}, {"'buys'", "twice"});
    refuse_with({"edge_types", texts({"user buys item", "user rev_buys user"})}, {"'rev_buys'"});
    refuse_with({"node_types", texts({"user", "user"})}, {"'user'", "twice"});
    refuse_with({"node_types", texts({"user", "an item"})}, {"an item"});
    refuse_with({"y", npy<TypedNumber>({0, -1, 0, 1, 1})}, {"'user'", "'item'", "have labels"});
    refuse_with({"x_item", npy<float>({1, 2, 3, 4}, 2)}, {"x_item"});
    refuse_with({"edge_attr", npy<float>({1, 2, 3, 4}, 1)}, {"of edges"});
    auto entries = shop();
    std::erase_if(entries, [](const ZipEntry& entry) { return entry.name == "edge_type"; });
    refuse(write_npz(entries), {"'edge_type' is missing"});
    graph::ImportOptions options{.input = write_npz(shop()), .output = {}};
    options.vertices = 9;
    refuse(options, {"--vertices"}, ErrorKind::usage);
    options.vertices.reset();
    options.features = "random:4";
    refuse(options, {"--features"}, ErrorKind::usage);
}

}  // namespace
}  // namespace rudder::test
