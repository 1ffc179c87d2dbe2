// Tables as data sets: known answers for every kind of column, and ids that are kept.
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>

#include <fmt/format.h>

#include "core/json.hpp"
#include "graph/io/export.hpp"
#include "graph/tables/id_map.hpp"
#include "graph/tables/schema.hpp"
#include "graph/tables/spill.hpp"
#include "rudder/core/parallel.hpp"

#include "tables_support.hpp"

namespace rudder::test {
namespace {

using Features = std::vector<std::vector<float>>;
using Rows = std::vector<std::vector<VertexId>>;
using graph::Role;

class Tables : public TablesTest {};

TEST_F(Tables, TwoTablesByTheirHeaders) {
    const graph::Dataset data =
        import(two("id,age,label,name,score,split\n"
                   "ann,30,good,Ann,0.5,train\n"
                   "\"b,ob\",40,bad,Bob,-1e2,val\n"
                   "çem,50,,Cem,+3,test\n"
                   "dan,60,good,Dan,0,\n",
                   "source,target\nann,\"b,ob\"\nçem,ann\n"));
    EXPECT_EQ(names_of(data), (std::vector<std::string>{"ann", "b,ob", "çem", "dan"}));
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1, 2}, {0}, {0}, {}}));
    EXPECT_EQ(features_of(data), (Features{{30, .5F}, {40, -100}, {50, 3}, {60, 0}}));
    EXPECT_EQ(data.info().targets.names, (std::vector<std::string>{"bad", "good"}));
    const auto classes = data.targets().classes;
    EXPECT_EQ(std::vector(classes.begin(), classes.end()),
              (std::vector<std::int32_t>{1, 0, -1, 1}));
    const auto roles = data.roles();
    EXPECT_EQ(std::vector(roles.begin(), roles.end()),
              (std::vector{Role::train, Role::valid, Role::test, Role::none}));
    // What was guessed stands beside the data, and makes the same again.
    const auto schema = folder_ / "again.toml";
    std::filesystem::copy(folder_ / "out" / "schema.toml", schema);
    const graph::Dataset again = import(schema);
    EXPECT_EQ(features_of(again), features_of(data));
    EXPECT_EQ(names_of(again), names_of(data));
}

TEST_F(Tables, IntegersOfAnySize) {
    const graph::Dataset data = import(
        two("id,x\n9223372036854775807,1\n-5,2\n0,3\n", "src,dst\n-5,9223372036854775807\n0,-5\n"));
    EXPECT_EQ(ids_of(data).kind(), graph::IdKind::integer);
    EXPECT_EQ(names_of(data), (std::vector<std::string>{"9223372036854775807", "-5", "0"}));
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1}, {0, 2}, {1}}));
}

TEST_F(Tables, NumbersThatAreTextStayText) {
    const graph::Dataset data = import(two("id,x\n007,1\n7,2\n", "source,target\n007,7\n"));
    EXPECT_EQ(names_of(data), (std::vector<std::string>{"007", "7"}));
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1}, {0}}));
}

TEST_F(Tables, EveryKindOfFeature) {
    write("v.csv",
          "id,n,colour,vec,list\n"
          "a,1,red,0.5;1.5,\"[1, 2, 3]\"\n"
          "b,,blue,2;3,\"4,5,6\"\n"
          "c,4,,0;0,7|8|9\n"
          "d,NA,red,NA,1 1 1\n");
    write("e.csv", "u;v\na;b\n");
    const graph::Dataset data = import(schema(R"([[vertices]]
files = "v.csv"
missing = "mean"
features = ["n", {column = "colour", kind = "category", missing = "zero"},
            {column = "vec", kind = "numbers"}, {column = "list", kind = "list"}]
[[edges]]
files = ["e.csv"]
source = "u"
target = "v"
)"));
    // Categories in the order of their names: blue, red.
    EXPECT_EQ(features_of(data), (Features{{1, 0, 1, .5F, 1.5F, 1, 2, 3},
                                           {2.5F, 1, 0, 2, 3, 4, 5, 6},
                                           {4, 0, 0, 0, 0, 7, 8, 9},
                                           {2.5F, 0, 1, 2.5F / 3, 1.5F, 1, 1, 1}}));
}

TEST_F(Tables, ZeroForMissing) {
    graph::ImportOptions options = two("id,x\na,1\nb,\n", "source,target\na,b\n");
    options.missing = graph::MissingValues::zero;
    EXPECT_EQ(features_of(import(options)), (Features{{1}, {0}}));
}

TEST_F(Tables, EveryKindOfLabel) {
    write("e.csv", "source,target\n1,2\n");
    const auto with = [&](const std::string& table, const std::string& label) {
        write("v.csv", table);
        return import(schema("[[vertices]]\nfiles = \"v.csv\"\nlabel = " + label +
                             "\n[[edges]]\nfiles = \"e.csv\"\n"));
    };
    {  // Whole numbers are classes in the order of their values.
        const auto data = with("id,y\n1,10\n2,9\n3,\n", "\"y\"");
        EXPECT_EQ(data.info().targets.names, (std::vector<std::string>{"9", "10"}));
        EXPECT_EQ(data.targets().classes[0], 1);
        EXPECT_EQ(data.targets().classes[2], -1);
    }
    {
        const auto data = with("id,y\n1,a\n2,unknown\n", "{column = \"y\", none = \"unknown\"}");
        EXPECT_EQ(data.info().targets.names, (std::vector<std::string>{"a"}));
        EXPECT_EQ(data.info().targets.labelled, 1U);
    }
    {
        const auto data = with("id,y\n1,b;a\n2,a\n3,\n", "{column = \"y\", kind = \"multilabel\"}");
        const auto rows = data.targets().multilabel;
        EXPECT_EQ(std::vector(rows.begin(), rows.end()),
                  (std::vector<std::uint8_t>{1, 1, 1, 0, 255, 255}));
    }
    {
        const auto data =
            with("id,p,q\n1,0.5,2\n2,-1,3\n3,,\n", "{columns = [\"p\", \"q\"], kind = \"number\"}");
        const auto rows = data.targets().regression;
        EXPECT_EQ(std::vector(rows.begin(), rows.begin() + 4), (std::vector<float>{.5F, 2, -1, 3}));
        EXPECT_TRUE(std::isnan(rows[4]) && std::isnan(rows[5]));
    }
}

TEST_F(Tables, ManyFilesAndUnknownEdges) {
    write("v/part-0.csv", "id,x\na,1\n");
    write("v/part-1.csv.gz", gzip("x,id\n2,b\n"));
    write("e.csv", "source,target\na,b\nb,zzz\n");
    graph::ImportOptions options = schema(
        "[[vertices]]\nfiles = \"v/part-*\"\nfeatures = [\"x\"]\n[[edges]]\nfiles = \"e.csv\"\n");
    refuse(options, {"e.csv, line 3, column 'target'", "unknown vertex 'zzz'", "--unknown drop"});
    options.unknown = graph::UnknownIds::drop;
    const graph::Dataset data = import(options);
    EXPECT_EQ(features_of(data), (Features{{1}, {2}}));
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1}, {0}}));
}

TEST_F(Tables, WhatEdgesCarry) {
    write("v.csv", "id,when\na,5\nb,\nc,-7\n");
    write("e.csv",
          "source,target,w,t,x,colour\n"
          "a,b,0.5,30,1,red\nzzz,a,9,9,9,green\na,b,2,10,2,blue\nc,b,0,20,3,red\n");
    graph::ImportOptions options = schema(R"([[vertices]]
files = "v.csv"
time = "when"
[[edges]]
files = "e.csv"
weight = "w"
time = "t"
features = ["x", {column = "colour", kind = "category"}]
)");
    options.directed = true;
    options.unknown = graph::UnknownIds::drop;
    const graph::Dataset data = import(options);
    EXPECT_EQ(rows_of(data.topology()), (Rows{{}, {0, 0, 2}, {}}));
    const graph::EdgeData carried = data.edge_data();
    // Entries of one vertex in the order of time.
    EXPECT_EQ(std::vector(carried.weight.begin(), carried.weight.end()),
              (std::vector<float>{2, .5F, 0}));
    EXPECT_EQ(std::vector(carried.time.begin(), carried.time.end()),
              (std::vector<std::int64_t>{10, 30, 20}));
    std::vector<std::vector<float>> rows;
    for (EdgeIndex e = 0; e < 3; ++e) {
        auto& row = rows.emplace_back(carried.features.info.width);
        graph::decode_row(carried.features.info, carried.features.row(e), {}, row);
    }
    EXPECT_EQ(rows, (Features{{2, 1, 0}, {1, 0, 1}, {3, 0, 1}}));
    const auto times = data.vertex_times();
    EXPECT_EQ(std::vector(times.begin(), times.end()),
              (std::vector<std::int64_t>{5, graph::no_time, -7}));
}

TEST_F(Tables, TargetsAndRolesOfEdges) {
    write("v.csv", "id\na\nb\nc\n");
    write("e.csv",
          "source,target,kind,split,x\n"
          "a,b,red,train,1\nzzz,a,green,test,9\na,b,?,valid,2\nc,b,blue,,3\nb,a,red,val,4\n");
    graph::ImportOptions options = schema(R"([[vertices]]
files = "v.csv"
[[edges]]
files = "e.csv"
label = {column = "kind", none = "?"}
split = "split"
features = ["x"]
)");
    options.directed = true;
    options.unknown = graph::UnknownIds::drop;
    const graph::Dataset data = import(options);
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1}, {0, 0, 2}, {}}));
    const graph::TargetInfo& targets = data.info().edge_targets;
    EXPECT_EQ(targets.names, (std::vector<std::string>{"blue", "red"})) << "green was dropped";
    EXPECT_EQ(targets.labelled, 3U);
    const graph::EdgeData carried = data.edge_data();
    EXPECT_EQ(std::vector(carried.targets.classes.begin(), carried.targets.classes.end()),
              (std::vector<std::int32_t>{1, 1, -1, 0}));
    using graph::Role;
    EXPECT_EQ(std::vector(carried.roles.begin(), carried.roles.end()),
              (std::vector<Role>{Role::valid, Role::train, Role::valid, Role::none}));
    EXPECT_EQ(data.info().edge_split, (graph::SplitCounts{1, 2, 0}));
    // The same from an archive, names and all.
    graph::export_dataset({data.folder().path(), folder_ / "out.npz"});
    const auto arrays = data.folder().manifest().at("arrays");
    const graph::Dataset again =
        import({.input = folder_ / "out.npz", .output = {}, .directed = true});
    EXPECT_EQ(again.info().edge_targets.names, (std::vector<std::string>{"blue", "red"}));
    for (const char* array : {"neighbours", "edge_labels", "edge_split"})
        EXPECT_EQ(again.folder().manifest().at("arrays").at(array), arrays.at(array)) << array;
}

TEST_F(Tables, NumbersOfEdgesAsTheHeaderSays) {
    const graph::Dataset data =
        import(two("id\n1\n2\n3\n", "source,target,label\n1,2,0.5\n2,3,\n3,1,-2\n"));
    EXPECT_EQ(data.info().edge_targets.kind, graph::TargetKind::regression);
    EXPECT_EQ(data.info().edge_targets.labelled, 4U) << "both ways";
    const auto numbers = data.edge_data().targets.regression;
    EXPECT_EQ(numbers[0], 0.5F);
    EXPECT_EQ(numbers[1], -2.F);
    EXPECT_FALSE(data.info().edge_split);
}

TEST_F(Tables, WeightsAloneAreAddedUp) {
    const graph::Dataset data = import(two("id\n1\n2\n", "source,target,weight\n1,2,0.5\n1,2,2\n"));
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1}, {0}}));
    EXPECT_EQ(data.edge_data().weight[0], 2.5F);
    EXPECT_EQ(data.edge_data().weight[1], 2.5F);
}

/// A table large enough for several rounds.
std::pair<std::string, std::string> large_tables() {
    std::mt19937 random(3);
    std::string nodes = "id,x,colour,label\n";
    std::string edges = "source,target\n";
    constexpr int vertices = 60000;
    const auto name = [](unsigned v) { return fmt::format("v{:x}-{}", v * 2654435761U, v % 7); };
    for (unsigned v = 0; v < vertices; ++v) {
        nodes += fmt::format("{},{},{},k{}\n", name(v),
                             random() % 50 == 0 ? "" : std::to_string(random() % 1000) + ".25",
                             random() % 9, random() % 5);
    }
    for (int e = 0; e < 300000; ++e)
        edges += name(static_cast<unsigned>(random() % vertices)) + "," +
                 name(static_cast<unsigned>(random() % vertices)) + "\n";
    return {std::move(nodes), std::move(edges)};
}

TEST_F(Tables, TheSameForAnyThreadsAndMemory) {
    const auto [nodes, edges] = large_tables();
    graph::ImportOptions options = two(nodes, edges);
    options.missing = graph::MissingValues::mean;
    std::vector<std::string> manifests;
    for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        options.memory = threads == 3 ? 1 : 0;  // nothing stays in memory
        manifests.push_back(import(options).folder().manifest().at("arrays").dump());
    }
    set_thread_count(0);
    EXPECT_EQ(manifests[0], manifests[1]);
    EXPECT_EQ(manifests[0], manifests[2]);
}

TEST(IdMaps, FindWhatAnOrdinaryMapFinds) {
    std::mt19937_64 random(5);
    std::unordered_map<std::string, VertexId> plain;
    std::vector<std::string> texts;
    std::vector<std::uint64_t> offsets{0};
    std::vector<std::uint8_t> bytes;
    while (texts.size() < 20000) {
        std::string text = fmt::format("{:x}", random() % 1000000);
        if (!plain.emplace(text, texts.size()).second) continue;
        bytes.insert(bytes.end(), text.begin(), text.end());
        offsets.push_back(bytes.size());
        texts.push_back(std::move(text));
    }
    const graph::VertexIds ids(Array<std::uint64_t>::copy_of(offsets),
                               Array<std::uint8_t>::copy_of(bytes));
    const graph::IdMap map(ids);
    EXPECT_FALSE(map.duplicate());
    std::vector<std::string> asked;
    for (int i = 0; i < 50000; ++i)
        asked.push_back(fmt::format("{:x}", random() % 1000000));
    const std::vector<std::string_view> views(asked.begin(), asked.end());
    std::vector<VertexId> found(views.size());
    map.find(views, found);
    for (std::size_t i = 0; i < asked.size(); ++i) {
        const auto known = plain.find(asked[i]);
        ASSERT_EQ(found[i], known == plain.end() ? graph::no_vertex : known->second) << asked[i];
    }
    EXPECT_EQ(map.find(std::int64_t{123456}), map.find(std::string_view("123456")));
}

TEST(IdMaps, TheFirstRepetitionForAnyThreads) {
    std::vector<std::int64_t> numbers(100000);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<std::int64_t>(i) * 7919 - 1000;
    numbers[90000] = numbers[70];
    numbers[50001] = numbers[70];
    numbers[99999] = numbers[40000];
    for (const int threads : {1, 2, 4}) {
        set_thread_count(threads);
        const graph::VertexIds ids(Array<std::int64_t>::copy_of(numbers));
        const graph::IdMap map(ids);
        ASSERT_TRUE(map.duplicate());
        EXPECT_EQ(map.duplicate()->first, 70U);
        EXPECT_EQ(map.duplicate()->second, 50001U);
    }
    set_thread_count(0);
}

TEST(Integers, ArePlainOrNone) {
    EXPECT_EQ(graph::plain_integer("0"), 0);
    EXPECT_EQ(graph::plain_integer("-12"), -12);
    EXPECT_EQ(graph::plain_integer("9223372036854775807"),
              std::numeric_limits<std::int64_t>::max());
    for (const char* none : {"", "-", "-0", "007", "+1", "1.0", "9223372036854775808", " 1", "a"})
        EXPECT_FALSE(graph::plain_integer(none)) << none;
}

TEST(Spills, AreReadBackFromMemoryAndDisk) {
    const TempDir folder;
    for (const std::uint64_t memory :
         {std::uint64_t{0}, std::uint64_t{5} << 20, std::uint64_t{1} << 30}) {
        graph::Spill spill(
            std::make_shared<graph::SpillRoom>(graph::SpillRoom{folder.path(), memory}));
        std::vector<std::uint32_t> values(3000000);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<std::uint32_t>(i * 2654435761U);
        spill.append(std::vector(values.begin(), values.begin() + 1234567));
        spill.append(std::vector(values.begin() + 1234567, values.end()));
        EXPECT_EQ(spill.on_disk(), memory < values.size() * 4);
        std::vector<std::byte> scratch;
        for (const std::size_t at : {0U, 1048570U, 2097150U, 2999990U}) {
            const auto some = spill.view<std::uint32_t>(at, 10, scratch);
            EXPECT_TRUE(std::equal(some.begin(), some.end(),
                                   values.begin() + static_cast<std::ptrdiff_t>(at)));
        }
    }
}

}  // namespace
}  // namespace rudder::test
