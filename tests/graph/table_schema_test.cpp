// Schemas of tables: written and read back, refused key by key, and guessed from headers.
#include <functional>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/tables/schema.hpp"

#include "support/refusal.hpp"
#include "tables_support.hpp"

namespace rudder::test {
namespace {

using graph::EdgeTable;
using graph::FeatureColumn;
using graph::FeatureKind;
using graph::LabelColumn;
using graph::LabelKind;
using graph::MissingValues;
using graph::TableSchema;
using graph::VertexTable;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Enum>
std::string code_of(const std::optional<Enum>& value) {
    return value ? std::to_string(static_cast<int>(*value)) : "-";
}

std::string all_of(const std::vector<FeatureColumn>& features) {
    std::string text;
    for (const FeatureColumn& one : features)
        text += fmt::format("<{}|{}|{}>", one.column, code_of(one.kind), code_of(one.missing));
    return text;
}

std::string all_of(const std::vector<LabelColumn>& labels) {
    std::string text;
    for (const LabelColumn& label : labels) {
        text += fmt::format("L {}|{}|{}|{}", label.column, code_of(label.kind),
                            fmt::join(label.none, "+"), label.separator);
    }
    return text;
}

/// Everything that a schema says, so that two can be compared.
std::string all_of(const TableSchema& schema) {
    std::string text;
    for (const VertexTable& one : schema.vertices) {
        text += fmt::format("V {}|{}|{}|{}|{}|{}|{}", one.type, fmt::join(one.files, "+"), one.id,
                            code_of(one.id_kind), one.split, one.time, all_of(one.features));
        text += all_of(one.label);
    }
    for (const EdgeTable& one : schema.edges) {
        text += fmt::format("E {}|{}|{}|{}|{}|{}|{}|{}|{}|{}", one.type, fmt::join(one.files, "+"),
                            one.from, one.to, one.source, one.target, one.weight, one.time,
                            one.split, all_of(one.features));
        text += all_of(one.label);
    }
    return text;
}

class RandomSchemas {
public:
    explicit RandomSchemas(unsigned seed) : random_(seed) {}

    TableSchema next() {
        TableSchema schema;
        VertexTable vertices;
        vertices.type = word();
        vertices.files = words();
        vertices.id = word();
        if (coin()) vertices.id_kind = coin() ? graph::IdKind::integer : graph::IdKind::text;
        vertices.features = features();
        vertices.label = labels();
        if (coin()) vertices.split = word();
        if (coin()) vertices.time = word();
        EdgeTable edges;
        edges.type = word();
        edges.files = words();
        if (coin()) edges.from = vertices.type;
        if (coin()) edges.to = vertices.type;
        edges.source = word();
        edges.target = word();
        if (coin()) edges.weight = word();
        if (coin()) edges.time = word();
        edges.features = features();
        edges.label = labels();
        if (coin()) edges.split = word();
        schema.vertices.push_back(std::move(vertices));
        schema.edges.push_back(std::move(edges));
        return schema;
    }

private:
    bool coin() { return random_() % 2 == 0; }
    std::string word() {
        static const std::vector<std::string> pieces{
            "a",  "x 1",  "\"",  "'",      "\\", "\n",   "\t",   "ü", "漢", "😀",
            "#=", "]}{[", "'''", "\"\"\"", "\r", "\x01", "\x7f", ",", "*",  "C:\\new"};
        std::string text;
        for (auto count = 1 + random_() % 4; count > 0; --count)
            text += pieces[random_() % pieces.size()];
        return text;
    }
    std::vector<std::string> words() {
        std::vector<std::string> all{word()};
        while (coin())
            all.push_back(word());
        return all;
    }
    std::vector<FeatureColumn> features() {
        std::vector<FeatureColumn> all;
        while (coin()) {
            FeatureColumn& one = all.emplace_back(FeatureColumn{.column = word()});
            if (coin()) one.kind = static_cast<FeatureKind>(random_() % 3);
            if (coin()) one.missing = static_cast<MissingValues>(random_() % 3);
            if (one.kind == FeatureKind::category && one.missing == MissingValues::mean)
                one.missing = MissingValues::zero;
        }
        return all;
    }
    std::vector<LabelColumn> labels() {
        LabelColumn label;
        if (coin()) label.kind = static_cast<LabelKind>(random_() % 3);
        if (coin()) label.none = words();
        if (coin()) label.separator = word();
        std::vector<LabelColumn> all;
        for (auto count = random_() % 4; count > 0; --count) {
            label.column = word();
            all.push_back(label);
        }
        if (all.size() > 1) {
            for (LabelColumn& one : all)
                one.kind = LabelKind::number;
        }
        return all;
    }

    std::mt19937 random_;
};

TEST(TableSchemas, AreReadBackAsTheyWereWritten) {
    RandomSchemas schemas(21);
    for (int i = 0; i < 400; ++i) {
        const TableSchema schema = schemas.next();
        const std::string text = graph::schema_text(schema);
        const TableSchema again = graph::parse_schema(text, "folder/schema.toml");
        ASSERT_EQ(all_of(again), all_of(schema)) << text;
        ASSERT_EQ(graph::schema_text(again), text);
        EXPECT_EQ(again.base, "folder");
    }
}

const std::string some_edges = "[[edges]]\nfiles = 'e.csv'\n";

TableSchema schema_with(const std::string& lines) {
    return graph::parse_schema("[[vertices]]\nfiles = 'v.csv'\n" + lines + some_edges, "s.toml");
}

TEST(TableSchemas, DefaultsAreThoseOfTheHeader) {
    const TableSchema schema = schema_with("");
    EXPECT_EQ(schema.vertices.front().type, "vertex");
    EXPECT_EQ(schema.vertices.front().id, "id");
    EXPECT_FALSE(schema.vertices.front().id_kind);
    EXPECT_EQ(schema.edges.front().type, "edge");
    EXPECT_EQ(schema.edges.front().source, "source");
    EXPECT_EQ(schema.edges.front().target, "target");
    EXPECT_TRUE(schema.base.empty());
}

TEST(TableSchemas, MissingValuesOfATableAreThoseOfItsColumns) {
    // Wherever the key stands, and unless a column says otherwise.
    for (const bool first : {true, false}) {
        const std::string features =
            "features = ['a', {column = 'b', missing = 'zero'}, {column = 'c', kind = "
            "'category'}]\n";
        const std::string missing = "missing = 'mean'\n";
        const auto columns =
            schema_with(first ? missing + features : features + missing).vertices.front().features;
        ASSERT_EQ(columns.size(), 3U);
        EXPECT_EQ(columns[0].missing, MissingValues::mean);
        EXPECT_EQ(columns[1].missing, MissingValues::zero);
        EXPECT_EQ(columns[2].missing, std::nullopt) << "categories have no mean";
    }
}

TEST(TableSchemas, EveryWord) {
    const auto feature = [](const std::string& rest) {
        return schema_with("features = [{column = 'c', " + rest + "}]\n")
            .vertices.front()
            .features.front();
    };
    EXPECT_EQ(feature("kind = 'number'").kind, FeatureKind::number);
    EXPECT_EQ(feature("kind = 'category', encode = 'onehot'").kind, FeatureKind::category);
    EXPECT_EQ(feature("kind = 'list'").kind, FeatureKind::list);
    EXPECT_EQ(feature("kind = 'numbers'").kind, FeatureKind::list);
    EXPECT_EQ(feature("missing = 'refuse'").missing, MissingValues::refuse);
    EXPECT_EQ(feature("missing = 'mean'").missing, MissingValues::mean);
    const auto label = [](const std::string& rest) {
        return schema_with("label = {column = 'c', " + rest + "}\n").vertices.front().label.front();
    };
    EXPECT_EQ(label("kind = 'class'").kind, LabelKind::classes);
    EXPECT_EQ(label("kind = 'multilabel', separator = '|'").separator, "|");
    EXPECT_EQ(label("kind = 'number'").kind, LabelKind::number);
    EXPECT_THAT(label("none = ['?', 'unknown']").none, ElementsAre("?", "unknown"));
    EXPECT_THAT(label("none = '?'").none, ElementsAre("?"));
    const auto several = schema_with("label = {columns = ['p', 'q']}\n").vertices.front().label;
    ASSERT_EQ(several.size(), 2U);
    EXPECT_EQ(several[1].column, "q");
    EXPECT_EQ(several[1].kind, LabelKind::number) << "several are numbers";
    EXPECT_EQ(schema_with("id_kind = 'text'\n").vertices.front().id_kind, graph::IdKind::text);
}

TEST(TableSchemas, RefusedWithTheLine) {
    const auto problem = [](const std::string& line) {
        const Refusal refusal = refusal_of([&] { (void)schema_with(line + "\n"); });
        EXPECT_EQ(refusal.kind, ErrorKind::input) << line;
        EXPECT_EQ(refusal.where, "s.toml, line 3") << line;
        return refusal.problem;
    };
    EXPECT_EQ(problem("features = 'a'"), "invalid features: not a list");
    EXPECT_EQ(problem("features = [3]"), "invalid feature: neither a text nor a table");
    EXPECT_EQ(problem("features = [{kind = 'list'}]"), "a feature has no column");
    EXPECT_EQ(problem("features = [{column = 7}]"), "invalid value of 'column': not a text");
    EXPECT_EQ(problem("features = [{column = 'a', kind = 'category', missing = 'mean'}]"),
              "invalid missing: 'mean' of a category");
    EXPECT_EQ(problem("features = [{column = 'a', encode = 'hash'}]"), "invalid encode: 'hash'");
    EXPECT_EQ(problem("features = [{name = 'a'}]"), "unknown key 'name'");
    EXPECT_EQ(problem("missing = 'median'"), "invalid missing: 'median'");
    EXPECT_EQ(problem("id_kind = 'float'"), "invalid id_kind: 'float'");
    EXPECT_EQ(problem("label = 3"), "invalid label: neither a text nor a table");
    EXPECT_EQ(problem("label = {kind = 'class'}"), "a label has no column");
    EXPECT_EQ(problem("label = {column = 'a', separator = ''}"), "invalid separator: ''");
    EXPECT_EQ(problem("label = {columns = ['a', 'b'], kind = 'class'}"),
              "several label columns are numbers, not classes");
    EXPECT_EQ(problem("label = {column = 'a', none = 4}"), "invalid value of 'none': not a text");
    EXPECT_EQ(problem("split = ['a']"), "invalid value of 'split': not a text");
}

TEST(TableSchemas, RefusedAsAWhole) {
    const auto refused = [](const std::string& text) {
        const Refusal refusal = refusal_of([&] { (void)graph::parse_schema(text, "s.toml"); });
        EXPECT_THAT(refusal.where, HasSubstr("s.toml"));
        return refusal.problem;
    };
    EXPECT_EQ(refused(""), "the schema has no [[vertices]]");
    EXPECT_EQ(refused(some_edges), "the schema has no [[vertices]]");
    EXPECT_EQ(refused("vertices = 3\n"), "invalid 'vertices': not a list of tables");
    EXPECT_EQ(refused("vertices = [1]\n"), "invalid 'vertices': not a list of tables");
    EXPECT_EQ(refused("[vertices]\nfiles = 'v.csv'\n"), "invalid 'vertices': not a list of tables");
    EXPECT_EQ(refused("[[vertex]]\nfiles = 'v.csv'\n"), "unknown key 'vertex'");
    EXPECT_EQ(refused("[[vertices]]\nfiles = []\n" + some_edges), "a table has no files");
    EXPECT_EQ(refused("[[vertices]]\nfiles = 'v'\n" + some_edges + "to = 'paper'\n"),
              "edges of type 'edge' join vertices of type 'paper', which has no table");
    // Tables of edges may come before those they join.
    const std::string joined =
        some_edges + "from = 'paper'\n[[vertices]]\ntype = 'paper'\nfiles = 'v'\n";
    EXPECT_EQ(graph::parse_schema(joined, "s.toml").edges.front().from, "paper");
}

class GuessedSchemas : public TablesTest {
protected:
    graph::GuessedSchema guess(const std::string& nodes, const std::string& edges) {
        return graph::guess_schema(write("nodes.csv", nodes).string(),
                                   write("edges.csv", edges).string());
    }
};

TEST_F(GuessedSchemas, WhatWasTakenForWhat) {
    const auto made =
        guess("id,age,name,label,split,time,score\n7,NA,Ann,x,train,5,\n8,30,Bob,y,,,.5\n",
              "src,dst,weight,time,colour\n7,8,1,2,red\n");
    const VertexTable& vertices = made.schema.vertices.front();
    EXPECT_EQ(vertices.id_kind, graph::IdKind::integer);
    ASSERT_EQ(vertices.features.size(), 2U) << "by the first cell that is not missing";
    EXPECT_EQ(vertices.features[0].column, "age");
    EXPECT_EQ(vertices.features[1].column, "score");
    EXPECT_EQ(vertices.label.front().kind, LabelKind::classes);
    EXPECT_EQ(vertices.split, "split");
    EXPECT_EQ(vertices.time, "time");
    const EdgeTable& edges = made.schema.edges.front();
    EXPECT_EQ(edges.source + edges.target + edges.weight + edges.time, "srcdstweighttime");
    EXPECT_THAT(
        made.said,
        ElementsAre("vertices: id (integers), label (classes), split, time",
                    "features: 2 columns: age, score",
                    "left out, since their first cell is not a number: name",
                    "edges: src -> dst, weight, time",
                    "left out of the edges, unless a schema makes features of them: colour"));
    const auto learned = guess("id\n7\n8\n", "src,dst,label,split\n7,8,1.5,train\n");
    EXPECT_EQ(learned.said.back(), "edges: src -> dst, label (numbers), split");
    EXPECT_EQ(learned.schema.edges.front().label.front().kind, LabelKind::number);
    EXPECT_EQ(learned.schema.edges.front().split, "split");
    EXPECT_EQ(vertices.files.front(), (folder_ / "nodes.csv").string());
}

TEST_F(GuessedSchemas, LabelsAndIdsByTheirFirstCell) {
    const auto kind_of = [&](const std::string& label) {
        return guess("id,label\na," + label + "\n", "source,target\n")
            .schema.vertices.front()
            .label.front()
            .kind;
    };
    EXPECT_EQ(kind_of("3"), LabelKind::classes);
    EXPECT_EQ(kind_of("3.0"), LabelKind::number);
    EXPECT_EQ(kind_of("-1e3"), LabelKind::number);
    EXPECT_EQ(kind_of("good"), LabelKind::classes);
    EXPECT_EQ(kind_of(""), LabelKind::classes);
    const auto ids_of_first = [&](const std::string& id) {
        return guess("id,x\n" + id + ",1\n", "from,to\n").schema.vertices.front().id_kind;
    };
    EXPECT_EQ(ids_of_first("12"), graph::IdKind::integer);
    EXPECT_EQ(ids_of_first("012"), graph::IdKind::text);
    EXPECT_EQ(ids_of_first("1.5"), graph::IdKind::text);
}

TEST_F(GuessedSchemas, ManyColumnsAreNotAllNamed) {
    std::string header = "id";
    std::string row = "a";
    for (int i = 0; i < 11; ++i) {
        header += fmt::format(",f{}", i);
        row += ",1";
    }
    const auto made = guess(header + "\n" + row + "\n", "source,target\n");
    EXPECT_EQ(made.said[1], "features: 11 columns: f0, f1, f2, f3, f4, f5, f6, f7 and 3 more");
    expect_error([&] { (void)guess("name,x\n", "source,target\n"); }, ErrorKind::input,
                 {"nodes.csv", "missing column 'id' among: name, x", "docs/tables.md"});
    expect_error([&] { (void)guess("id\n", "source,x\n"); }, ErrorKind::input,
                 {"edges.csv", "missing column 'target' among: source, x", "targets"});
}

}  // namespace
}  // namespace rudder::test
