// Data sets as tables: cells to the letter, and tables that give the same data set again.
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "core/json.hpp"
#include "graph/io/export.hpp"
#include "graph/io/export_table.hpp"
#include "graph/tables/table_writer.hpp"

#include "support/refusal.hpp"
#include "tables_support.hpp"

namespace rudder::test {
namespace {

using graph::CellKind;
using graph::GraphTable;
using graph::OutputFormat;

class TablesOut : public TablesTest {
protected:
    std::string exported(const graph::ExportSource& source, GraphTable table) {
        const auto file = folder_ / "exported.csv";
        graph::export_table(source, {table}, OutputFormat::csv, file, true, Progress::none());
        return read_text(file, 1 << 26);
    }
    std::string vertices_of(const graph::Dataset& data) {
        return exported(graph::DatasetExport(data), GraphTable::vertices);
    }
    std::string edges_of(const graph::Dataset& data) {
        return exported(graph::DatasetExport(data), GraphTable::edges);
    }
};

TEST_F(TablesOut, EveryKindOfColumn) {
    write("v.csv",
          "id,a,b,y,s,t\n"
          "ann,1,0.1,good,train,5\n"
          "\"b,\"\"o\"\"b\",-2,1e-7,\"a;b\",val,\n"
          "çem,3,1e30,,none,-7\n");
    write("e.csv", "source,target,w,t,q\nann,çem,0.5,30,1\nçem,ann,2,10,-1\nann,ann,9,9,9\n");
    graph::ImportOptions options = schema(R"([[vertices]]
files = "v.csv"
features = ["a", "b"]
label = "y"
split = "s"
time = "t"
[[edges]]
files = "e.csv"
weight = "w"
time = "t"
features = ["q"]
)");
    options.directed = true;
    options.keep_self_loops = true;
    const graph::Dataset data = import(options);
    EXPECT_EQ(vertices_of(data),
              "id,x0,x1,label,split,time\n"
              "ann,1,0.1,good,train,5\n"
              "\"b,\"\"o\"\"b\",-2,1e-07,\"a;b\",valid,\n"
              "çem,3,1e+30,,,-7\n");
    EXPECT_EQ(edges_of(data),
              "source,target,weight,time,e0\n"
              "ann,ann,9,9,9\n"
              "çem,ann,2,10,-1\n"
              "ann,çem,0.5,30,1\n");
}

TEST_F(TablesOut, TargetsOfSeveralNumbersAndLabels) {
    write("e.csv", "source,target\n1,2\n");
    const auto label_cells = [&](const std::string& table, const std::string& label) {
        write("v.csv", table);
        return vertices_of(import(schema("[[vertices]]\nfiles = 'v.csv'\nlabel = " + label +
                                         "\nsplit = 's'\n[[edges]]\nfiles = 'e.csv'\n")));
    };
    EXPECT_EQ(label_cells("id,p,q,s\n1,0.5,2,test\n2,,,\n", "{columns = ['p', 'q']}"),
              "id,label0,label1,split\n1,0.5,2,test\n2,,,\n");
    EXPECT_EQ(label_cells("id,p,s\n1,0.5,train\n2,-3,\n", "{column = 'p', kind = 'number'}"),
              "id,label,split\n1,0.5,train\n2,-3,\n");
    EXPECT_EQ(label_cells("id,y,s\n1,c|a,train\n2,|,test\n3,,\n4,b,\n",
                          "{column = 'y', kind = 'multilabel', separator = '|'}"),
              "id,label,split\n1,\"a;c\",train\n2,\"\",test\n3,,\n4,b,\n");
}

TEST_F(TablesOut, NamesOfClasses) {
    graph::TargetInfo targets{.kind = graph::TargetKind::classes, .count = 3};
    EXPECT_EQ(graph::class_name(targets, 2), "2") << "without names, numbers";
    targets.names = {"a", "b"};
    EXPECT_EQ(graph::class_name(targets, 1), "b");
    EXPECT_EQ(graph::class_name(targets, 2), "2");
    EXPECT_EQ(graph::joined_classes(targets, std::vector<std::uint8_t>{1, 0, 1}), "a;2");
    EXPECT_EQ(graph::joined_classes(targets, std::vector<std::uint8_t>{0, 0, 0}), "");
}

TEST_F(TablesOut, SymmetricGraphsGiveEachEdgeOnce) {
    for (std::uint64_t seed = 0; seed < 25; ++seed) {
        SCOPED_TRACE(seed);
        const RandomEdges random = random_edges(seed, 20);
        std::string list;
        for (const graph::Edge& edge : random.edges)
            list += fmt::format("{} {}\n", edge.source, edge.target);
        graph::ImportOptions options{.input = write("list.txt", list), .output = {}};
        options.vertices = random.vertices;
        options.directed = seed % 2 == 0;
        options.keep_self_loops = seed % 3 == 0;
        const auto rows = rows_of(import(options).topology());
        const graph::Dataset data(folder_ / "out");
        std::string expected = "source,target\n";
        for (VertexId v = 0; v < rows.size(); ++v) {
            for (const VertexId u : rows[v]) {
                if (!data.info().symmetric || u <= v) expected += fmt::format("{},{}\n", u, v);
            }
        }
        EXPECT_EQ(edges_of(data), expected);
        EXPECT_TRUE(options.directed || data.info().symmetric);
    }
}

/// Ids and names that need quotes, or look like something else.
std::string awkward(std::mt19937& random, int number) {
    static const std::vector<std::string> words{"a", ",", ";",  "\"", "\n", "\r\n", "\t",
                                                " ", "ü", "漢", "NA", "-",  "1.5",  "'"};
    std::string text;
    for (auto count = random() % 4; count > 0; --count)
        text += words[random() % words.size()];
    return text + fmt::format("{}", number);
}

TEST_F(TablesOut, ExportedTablesGiveTheSameDataSetAgain) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const RandomEdges edges = random_edges(seed, 30);
        std::vector<std::string> ids;
        for (VertexId v = 0; v < edges.vertices; ++v)
            ids.push_back(awkward(random, static_cast<int>(v)));
        const auto nodes = graph::make_table_writer(OutputFormat::csv, folder_ / "vertices.csv",
                                                    {{"id", CellKind::text},
                                                     {"x0", CellKind::real},
                                                     {"x1", CellKind::real},
                                                     {"label", CellKind::text},
                                                     {"split", CellKind::text},
                                                     {"time", CellKind::integer}});
        for (const std::string& id : ids) {
            nodes->text(id);
            nodes->real(static_cast<float>(random()) * 1e-9F);
            nodes->real(std::ldexp(static_cast<float>(random() % 1000), -140));
            random() % 5 == 0 ? nodes->missing() : nodes->text(fmt::format("k{}", random() % 3));
            random() % 3 == 0 ? nodes->missing()
                              : nodes->text(random() % 2 == 0 ? "train" : "test");
            random() % 4 == 0 ? nodes->missing() : nodes->integer(static_cast<int>(random()));
            nodes->end_row();
        }
        nodes->finish();
        const auto pairs = graph::make_table_writer(OutputFormat::csv, folder_ / "pairs.csv",
                                                    {{"source", CellKind::text},
                                                     {"target", CellKind::text},
                                                     {"weight", CellKind::real},
                                                     {"time", CellKind::integer}});
        for (const graph::Edge& edge : edges.edges) {
            pairs->text(ids[edge.source]);
            pairs->text(ids[edge.target]);
            pairs->real(static_cast<float>(random() % 100) / 7);
            pairs->integer(static_cast<std::int64_t>(random() % 50));
            pairs->end_row();
        }
        pairs->finish();
        graph::ImportOptions options = schema(R"([[vertices]]
files = 'vertices.csv'
id_kind = 'text'
features = ['x0', 'x1']
label = 'label'
split = 'split'
time = 'time'
[[edges]]
files = 'pairs.csv'
weight = 'weight'
time = 'time'
)");
        options.directed = true;
        options.keep_self_loops = true;
        std::string arrays;
        for (int again = 0; again < 2; ++again) {
            const graph::Dataset data = import(options);
            EXPECT_EQ(names_of(data), ids);
            const std::string now = data.folder().manifest().at("arrays").dump();
            if (again == 0) arrays = now;
            EXPECT_EQ(now, arrays);
            const std::string vertex_text = vertices_of(data);
            const std::string edge_text = edges_of(data);
            if (again == 1) {
                EXPECT_EQ(vertex_text, read_text(folder_ / "vertices.csv", 1 << 20));
                EXPECT_EQ(edge_text, read_text(folder_ / "pairs.csv", 1 << 20));
            }
            write("vertices.csv", vertex_text);
            write("pairs.csv", edge_text);
        }
    }
}

TEST_F(TablesOut, WhatIsThereIsLeftUnlessForced) {
    const graph::Dataset data = import(two("id,x\na,1\nb,2\n", "source,target\na,b\n"));
    const graph::DatasetExport source(data);
    const auto file = write("there.csv", "mine");
    const Refusal refusal = refusal_of([&] {
        graph::export_table(source, {GraphTable::edges}, OutputFormat::csv, file, false,
                            Progress::none());
    });
    EXPECT_EQ(refusal.kind, ErrorKind::usage);
    EXPECT_EQ(read_text(file, 100), "mine");
    graph::export_table(source, {GraphTable::edges}, OutputFormat::csv, file, true,
                        Progress::none());
    EXPECT_EQ(read_text(file, 100), "source,target\na,b\n");
}

TEST_F(TablesOut, TheEndingTellsTheFormat) {
    EXPECT_EQ(graph::output_format("a.csv"), OutputFormat::csv);
    EXPECT_EQ(graph::output_format("a.npz"), OutputFormat::npz);
    EXPECT_EQ(graph::output_format("folder.csv/a"), OutputFormat::npz);
    const Refusal refusal = refusal_of([] { (void)graph::output_format("a.tsv"); });
    EXPECT_EQ(refusal.kind, ErrorKind::usage);
    EXPECT_EQ(refusal.problem, "unknown ending '.tsv'");
}

TEST_F(TablesOut, ANameThatBeginsLikeAFileIsReadBack) {
    const auto file = folder_ / "mark.csv";
    const std::vector<std::string> names{
        "\xef\xbb\xbf"
        "b",
        "c"};
    const auto writer = graph::make_table_writer(
        OutputFormat::csv, file, {{names[0], CellKind::text}, {names[1], CellKind::text}});
    writer->finish();
    EXPECT_EQ(graph::Table({file}).columns(), names);
}

TEST_F(TablesOut, WrittenCellsAreReadBack) {
    std::mt19937 random(9);
    constexpr int rows = 20000;  // more than is kept before it is written
    const auto file = folder_ / "cells.csv";
    const auto writer = graph::make_table_writer(
        OutputFormat::csv, file,
        {{"a,\"b\"", CellKind::text}, {"n", CellKind::integer}, {"r", CellKind::real}});
    std::vector<PlainRow> expected;
    for (int i = 0; i < rows; ++i) {
        PlainRow& row = expected.emplace_back();
        const std::string text = i % 11 == 0 ? "" : awkward(random, i % 5);
        row.emplace_back(text);
        writer->text(text);
        if (i % 3 == 0) {
            writer->missing();
            row.emplace_back();
        } else {
            const auto number = static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
            writer->integer(number);
            row.emplace_back(std::to_string(number));
        }
        const float real =
            std::ldexp(static_cast<float>(random()), static_cast<int>(i % 250) - 150);
        writer->real(real);
        row.emplace_back(fmt::format("{}", real));
        ASSERT_EQ(std::strtof(row.back()->c_str(), nullptr), real) << "the same number again";
        writer->end_row();
    }
    writer->finish();
    const graph::Table table({file});
    EXPECT_EQ(table.columns(), (std::vector<std::string>{"a,\"b\"", "n", "r"}));
    CellCollector collector;
    table.walk(table.columns(), collector);
    EXPECT_TRUE(collector.rows == expected);
}

}  // namespace
}  // namespace rudder::test
