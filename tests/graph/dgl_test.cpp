// Partition folders of DGL: the graph that was partitioned comes out of them, and damage is named.
#include "graph/io/dgl_files.hpp"
#include "graph/io/dgl_import.hpp"
#include "rudder/core/random.hpp"

#include "io_support.hpp"
#include "support/dgl_folder.hpp"

namespace rudder::test {
namespace {

using Rows = std::vector<std::vector<VertexId>>;

class DglImport : public ImportTest {
protected:
    [[nodiscard]] std::filesystem::path ring(const DglRing& ring = {}) const {
        return ring.write(folder_ / "dgl");
    }
    graph::Dataset import_dgl(graph::DglImportOptions options) {
        options.output = folder_ / "out";
        options.force = true;
        graph::import_dgl(options);
        graph::Dataset data(options.output);
        data.check();
        return data;
    }
    void refuse_dgl(graph::DglImportOptions options, std::initializer_list<std::string> words,
                    ErrorKind kind = ErrorKind::input) {
        options.output = folder_ / "out";
        expect_error([&] { graph::import_dgl(options); }, kind, words);
        EXPECT_FALSE(std::filesystem::exists(options.output));
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
            EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
    }
    /// Vertex v of the ring hears the one after it.
    static Rows ring_rows(VertexId count) {
        Rows rows;
        for (VertexId v = 0; v < count; ++v)
            rows.push_back({(v + 1) % count});
        return rows;
    }
};

TEST_F(DglImport, APartitionBecomesTheGraphItWas) {
    for (const std::uint64_t formats : {1U, 2U, 4U, 7U}) {
        const graph::Dataset data = import_dgl({.input = ring({.formats = formats})});
        EXPECT_EQ(rows_of(data.topology()), ring_rows(12)) << "formats " << formats;
        ASSERT_EQ(data.info().features.width, 2U);
        const graph::FeatureView features = data.features();
        for (VertexId v = 0; v < 12; ++v) {
            std::array<float, 2> row{};
            graph::decode_row(features.info, features.row(v), features.scale, row);
            EXPECT_EQ(row, (std::array{static_cast<float>(v), -static_cast<float>(v)}));
            EXPECT_EQ(data.targets().classes[v], static_cast<std::int32_t>(v % 3));
            EXPECT_EQ(data.roles()[v], (std::array{graph::Role::train, graph::Role::valid,
                                                   graph::Role::test}[v % 3]));
        }
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out.npz")) << "what lay beside is gone";
}

TEST_F(DglImport, WithoutOriginalIdsThoseOfThePartitionStay) {
    const graph::Dataset data = import_dgl({.input = ring({.original = false})});
    Rows rows;
    for (VertexId v = 0; v < 12; ++v)
        rows.push_back({(v + 11) % 12});
    EXPECT_EQ(rows_of(data.topology()), rows);
}

TEST_F(DglImport, EdgesGoBothWaysWhereThatIsAsked) {
    const graph::Dataset data = import_dgl({.input = ring(), .undirected = true});
    EXPECT_EQ(data.info().edges, 24U);
    EXPECT_TRUE(data.info().symmetric);
}

TEST_F(DglImport, TensorsAreChosenByName) {
    const auto file = ring();
    const graph::Dataset data =
        import_dgl({.input = file, .features = "feat", .labels = "train_mask"});
    EXPECT_EQ(data.info().features.width, 2U);
    EXPECT_EQ(data.info().targets.count, 2U);
    std::filesystem::remove_all(folder_ / "out");
    refuse_dgl({.input = file, .features = "other"}, {"no features 'other'", "feat", "label"});
    refuse_dgl({.input = file, .labels = "other"}, {"no labels 'other'"});
}

TEST_F(DglImport, WhatDoesNotFitIsRefused) {
    refuse_dgl({.input = ring({.relations = 2})},
               {"1 types of vertices and 2 of edges", "graph.dgl", "without types"});
    refuse_dgl({.input = ring({.extra_rows = 1})}, {"'feat' has 9 rows, for 8 vertices", "part1"});
    const auto file = ring();
    const std::string config = read_text(file, 1 << 20);
    const auto with = [&](const std::string& from, const std::string& to) {
        std::string changed = config;
        changed.replace(changed.find(from), from.size(), to);
        return DglRing::put(folder_ / "dgl/other.json", changed);
    };
    refuse_dgl({.input = with("\"num_nodes\": 12", "\"num_nodes\": 13")},
               {"12 vertices of their own, of 13"});
    refuse_dgl({.input = with("\"num_nodes\": 12", "\"num_nodes\": 11")}, {"invalid vertex: 11"});
    refuse_dgl({.input = with("\"num_parts\": 2", "\"num_parts\": 3")}, {"part 2 is missing"});
    refuse_dgl({.input = with("\"num_parts\": 2", "\"num_parts\": 0")}, {"invalid num_parts: 0"});
    refuse_dgl({.input = with("part1/graph.dgl", "part0/graph.dgl")}, {"vertices of their own"});
    refuse_dgl({.input = with("part1/graph.dgl", "part9/graph.dgl")}, {"part9/graph.dgl"});
    refuse_dgl({.input = folder_ / "nowhere.json"}, {"nowhere.json"});
}

TEST_F(DglImport, AnOutputIsReplacedOnlyIfAsked) {
    const auto file = ring();
    std::filesystem::create_directories(folder_ / "out");
    expect_error([&] { graph::import_dgl({.input = file, .output = folder_ / "out"}); },
                 ErrorKind::usage, {"exists already", "--force"});
    std::filesystem::remove_all(folder_ / "out");
    EXPECT_EQ(import_dgl({.input = file}).info().vertices, 12U);
}

TEST_F(DglImport, EveryCutIsRefused) {
    static_cast<void>(ring({.formats = 7}));
    const auto file = folder_ / "dgl/part1/graph.dgl";
    const std::string whole = read_text(file, 1 << 20);
    // What is behind the graph, an index, is not read; the last name ends it.
    const std::size_t end = whole.rfind("_E") + 2;
    for (std::size_t cut = 0; cut < end; cut += cut < 4000 ? 97 : 1) {
        DglRing::put(file, whole.substr(0, cut));
        const auto error = error_of([&] { static_cast<void>(graph::DglFile(file).graph()); });
        ASSERT_TRUE(error.has_value()) << cut;
        EXPECT_EQ(error->kind(), ErrorKind::input);
        EXPECT_THAT(error->what(), testing::HasSubstr("graph.dgl"));
    }
}

/// Whatever is damaged, there is a data set that passes all checks, or an Error.
TEST_F(DglImport, DamageIsRefusedOrDoesNotMatter) {
    const auto file = ring({.formats = 7});
    const RandomStream stream({.purpose = Purpose::test, .seed = 3});
    Draws draws(stream, 0);
    int refused = 0;
    for (const char* name : {"dgl/part0/graph.dgl", "dgl/part1/node_feat.dgl", "dgl/graph.json"}) {
        const std::string whole = read_text(folder_ / name, 1 << 20);
        for (int i = 0; i < 60; ++i) {
            std::string damaged = whole;
            const std::size_t from = whole.size() > 4096 ? 4096 : 0;
            damaged[from + draws.below(whole.size() - from)] = static_cast<char>(draws.below(256));
            DglRing::put(folder_ / name, damaged);
            const auto error = error_of([&] { import_dgl({.input = file}); });
            if (!error) continue;
            ++refused;
            EXPECT_EQ(error->kind(), ErrorKind::input) << error->what();
        }
        DglRing::put(folder_ / name, whole);
    }
    EXPECT_GT(refused, 30);
    EXPECT_EQ(rows_of(import_dgl({.input = file}).topology()), ring_rows(12));
}

TEST(DglTensors, NumbersOfEveryTypeAreRead) {
    const TempDir folder;
    DglNamed tensors;
    const auto add = [&](const std::string& name, auto sample) {
        using T = decltype(sample);
        tensors.add(name, std::vector<T>{1, 0, static_cast<T>(-1)});
    };
    add("i8", std::int8_t{});
    add("i16", std::int16_t{});
    add("i32", std::int32_t{});
    add("i64", std::int64_t{});
    add("u8", std::uint8_t{});
    add("u16", std::uint16_t{});
    add("u32", std::uint32_t{});
    tensors.add("u64", std::vector<std::uint64_t>{7, 8, 9});
    tensors.add("large", std::vector<std::uint64_t>{std::uint64_t{1} << 63U});
    tensors.add("f32", std::vector<float>{1, 2});
    tensors.add("table", std::vector<std::int64_t>{1, 2, 3, 4}, {2, 2});
    const graph::DglFile file(DglRing::put(folder / "t.dgl", dgl_tensors_file(tensors)));
    const graph::DglTensors read = file.tensors();
    using Numbers = std::vector<std::int64_t>;
    for (const char* name : {"i8", "i16", "i32", "i64"})
        EXPECT_EQ(read.at(name).integers(), (Numbers{1, 0, -1})) << name;
    EXPECT_EQ(read.at("u8").integers(), (Numbers{1, 0, 255}));
    EXPECT_EQ(read.at("u16").integers(), (Numbers{1, 0, 65535}));
    EXPECT_EQ(read.at("u32").integers(), (Numbers{1, 0, 4294967295}));
    EXPECT_EQ(read.at("u64").integers(), (Numbers{7, 8, 9}));
    for (const char* name : {"large", "f32", "table"}) {
        expect_error([&] { static_cast<void>(read.at(name).integers()); }, ErrorKind::input,
                     {"t.dgl", std::string("'") + name + "'"});
    }
}

}  // namespace
}  // namespace rudder::test
