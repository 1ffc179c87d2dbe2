// Tables of several types: one space of ids, rows and ids by type, edges both ways, refusals.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "core/json.hpp"
#include "graph/graph_types.hpp"
#include "graph/io/export.hpp"
#include "graph/io/export_table.hpp"
#include "rudder/core/parallel.hpp"

#include "tables_support.hpp"

namespace rudder::test {
namespace {

using Rows = std::vector<std::vector<VertexId>>;
using graph::Role;

constexpr const char* shop_schema = R"([[vertices]]
type = "user"
files = "users.csv"
features = ["age"]
[[vertices]]
type = "item"
files = "items.csv"
features = ["price", "weight"]
label = "kind"
split = "split"
[[vertices]]
type = "tag"
files = "tags.csv"

[[edges]]
type = "buys"
from = "user"
to = "item"
files = "buys.csv"
[[edges]]
type = "knows"
from = "user"
to = "user"
files = "knows.csv"
[[edges]]
type = "has"
from = "item"
to = "tag"
files = "has.csv"
)";

class TypedTables : public TablesTest {
protected:
    void write_shop() {
        write("users.csv", "id,age\nann,30\nbob,40\n7,50\n");
        write("items.csv",
              "id,price,weight,kind,split\n7,1.5,2,toy,train\n8,2.5,3,book,test\n9,4,1,,\n");
        write("tags.csv", "id\nred\nann\n");
        write("buys.csv", "source,target\nann,7\nann,7\n7,8\nbob,9\n");
        write("knows.csv", "source,target\nann,bob\nbob,ann\n7,ann\n");
        write("has.csv", "source,target\n7,red\n7,ann\n");
    }
    graph::Dataset shop(bool directed = false) {
        write_shop();
        graph::ImportOptions options = schema(shop_schema);
        options.directed = directed;
        return import(options);
    }
    static std::vector<int> types_of_row(const graph::Dataset& data, VertexId v) {
        const auto offsets = data.topology().offsets;
        const auto types = data.edge_data().type.subspan(offsets[v], offsets[v + 1] - offsets[v]);
        return {types.begin(), types.end()};
    }
    void refuse(const std::string& text, std::initializer_list<std::string> words) {
        write_shop();
        const graph::ImportOptions options = schema(text);
        expect_error([&] { import(options); }, ErrorKind::input, words);
        EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
    }
    static std::string replaced(std::string text, const std::string& from, const std::string& to) {
        const auto at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return text.replace(at, from.size(), to);
    }
};

TEST_F(TypedTables, KnownAnswers) {
    const graph::Dataset data = shop();
    const graph::GraphTypes& types = data.info().types;
    ASSERT_EQ(types.vertices.size(), 3U);
    EXPECT_EQ(types.vertices[1].name, "item");
    EXPECT_EQ(types.vertices[1].first, 3U);
    EXPECT_EQ(types.vertices[2].first, 6U);
    EXPECT_EQ(data.info().vertices, 8U);
    EXPECT_EQ(data.info().version(), 3U);
    std::vector<std::string> names;
    for (const graph::EdgeType& type : types.edges)
        names.push_back(fmt::format("{} {} {} {}", types.vertices[type.from].name, type.name,
                                    types.vertices[type.to].name, type.edges));
    EXPECT_EQ(names,
              (std::vector<std::string>{"user buys item 3", "user knows user 4", "item has tag 2",
                                        "item rev_buys user 3", "tag rev_has item 2"}));
    // Users 0 1 2 = ann bob 7; items 3 4 5 = 7 8 9; tags 6 7 = red ann.
    EXPECT_EQ(rows_of(data.topology()),
              (Rows{{1, 2, 3}, {0, 5}, {0, 4}, {0, 6, 7}, {2}, {1}, {3}, {3}}));
    EXPECT_EQ(types_of_row(data, 0), (std::vector{1, 1, 3}));
    EXPECT_EQ(types_of_row(data, 3), (std::vector{0, 4, 4}));
    EXPECT_EQ(types_of_row(data, 6), (std::vector{2}));
    EXPECT_EQ(data.info().duplicates, 0U);
    EXPECT_TRUE(data.info().symmetric);
}

TEST_F(TypedTables, RowsAndIdsAreByType) {
    const graph::Dataset data = shop();
    EXPECT_FALSE(data.info().features.present());
    EXPECT_EQ(data.features(0).info.width, 1U);
    const graph::FeatureView items = data.features(1);
    ASSERT_EQ(items.rows, 3U);
    std::vector<float> row(2);
    graph::decode_row(items.info, items.row(2), items.scale, row);
    EXPECT_EQ(row, (std::vector<float>{4, 1}));
    EXPECT_FALSE(data.features(2).info.present());
    const auto ids = [&](std::size_t type) {
        const auto of = graph::VertexIds::open(data.folder(), data.info().types, type);
        std::vector<std::string> names;
        for (VertexId v = 0; v < of.size(); ++v)
            names.push_back(of.name(v));
        return names;
    };
    EXPECT_EQ(ids(0), (std::vector<std::string>{"ann", "bob", "7"}));
    EXPECT_EQ(ids(1), (std::vector<std::string>{"7", "8", "9"}));
    EXPECT_EQ(ids(2), (std::vector<std::string>{"red", "ann"}));
    EXPECT_EQ(graph::id_kind(data.folder(), 0), graph::IdKind::text);
    EXPECT_EQ(graph::id_kind(data.folder(), 1), graph::IdKind::integer);
    EXPECT_EQ(data.info().targets.names, (std::vector<std::string>{"book", "toy"}));
    EXPECT_EQ(data.info().targets.labelled, 2U);
    const auto classes = data.targets().classes;
    EXPECT_EQ(std::vector(classes.begin(), classes.end()),
              (std::vector<std::int32_t>{-1, -1, -1, 1, 0, -1, -1, -1}));
    EXPECT_EQ(data.roles()[3], Role::train);
    EXPECT_EQ(data.roles()[4], Role::test);
    EXPECT_EQ(data.info().split.train, 1U);
}

TEST_F(TypedTables, DirectedEdgesHaveNoWayBack) {
    const graph::Dataset data = shop(true);
    EXPECT_EQ(data.info().types.edges.size(), 3U);
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1, 2}, {0}, {}, {0}, {2}, {1}, {3}, {3}}));
    EXPECT_FALSE(data.info().symmetric);
}

/// One pair of vertices may be joined by edges of several types, each once.
TEST_F(TypedTables, TypesOfEdgesBetweenTheSameVerticesStayApart) {
    write("v.csv", "id,x\n1,0\n2,1\n3,2\n");
    write("run.csv", "source,target\n1,2\n2,3\n1,2\n");
    write("dev.csv", "source,target\n2,1\n1,3\n");
    const graph::Dataset data = import(schema(R"([[vertices]]
files = "v.csv"
features = ["x"]
[[edges]]
type = "run"
files = "run.csv"
[[edges]]
type = "dev"
files = "dev.csv"
)"));
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1, 1, 2}, {0, 0, 2}, {0, 1}}));
    EXPECT_EQ(types_of_row(data, 0), (std::vector{0, 1, 1}));
    EXPECT_EQ(types_of_row(data, 1), (std::vector{0, 1, 0}));
    EXPECT_EQ(data.info().duplicates, 0U);
    EXPECT_EQ(data.info().types.edges[0].edges, 4U);
    EXPECT_EQ(data.info().types.edges[1].edges, 4U);
}

TEST_F(TypedTables, WeightsOfTypesAreAddedUpApart) {
    write("v.csv", "id,x\n1,0\n2,1\n");
    write("a.csv", "source,target,w\n1,2,1\n1,2,2\n");
    write("b.csv", "source,target,w\n2,1,8\n");
    const char* text = R"([[vertices]]
files = "v.csv"
features = ["x"]
[[edges]]
type = "a"
files = "a.csv"
weight = "w"
[[edges]]
type = "b"
files = "b.csv"
weight = "w"
)";
    const graph::Dataset data = import(schema(text));
    EXPECT_EQ(rows_of(data.topology()), (Rows{{1, 1}, {0, 0}}));
    const auto weights = data.edge_data().weight;
    EXPECT_EQ(std::vector(weights.begin(), weights.end()), (std::vector<float>{3, 8, 3, 8}));
    write("b.csv", "source,target\n2,1\n");
    expect_error(
        [&] {
            import(
                schema(replaced(text, "files = \"b.csv\"\nweight = \"w\"", "files = \"b.csv\"")));
        },
        ErrorKind::input, {"'a'", "'b'", "weights"});
}

/// Two vertices are joined by several types, in both directions and at any times.
TEST_F(TypedTables, TimesAreInOrderTypeByType) {
    write("users.csv", "id,age\nann,30\nbob,40\n");
    write("items.csv", "id,price\n1,5\n2,6\n");
    write("buys.csv", "source,target,time\nann,1,9\nann,1,3\nbob,2,1\n");
    write("shown.csv", "source,target,time\n1,ann,4\n2,bob,8\n");
    write("likes.csv", "source,target,time\nann,1,2\n");
    std::string text = R"([[vertices]]
type = "user"
files = "users.csv"
features = ["age"]
[[vertices]]
type = "item"
files = "items.csv"
features = ["price"]
)";
    for (const std::string name : {"buys", "shown", "likes"}) {
        const bool back = name == "shown";
        text += fmt::format(
            "[[edges]]\ntype = \"{0}\"\nfrom = \"{1}\"\nto = \"{2}\"\nfiles = \"{0}.csv\"\n"
            "time = \"time\"\n",
            name, back ? "item" : "user", back ? "user" : "item");
    }
    const graph::Dataset data = import(schema(text));
    EXPECT_NO_THROW(data.check());
    // Of ann's row: shown, then what goes back of buys and of likes.
    const auto times = data.edge_data().time.first(4);
    EXPECT_EQ(std::vector(times.begin(), times.end()), (std::vector<std::int64_t>{4, 3, 9, 2}));
}

/// The slow way: sets of edges by type, from tables drawn at random.
TEST_F(TypedTables, AsTheObviousWayBuildsThem) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        std::mt19937_64 draws(seed);
        const auto below = [&](std::uint64_t n) { return draws() % n; };
        const std::vector<std::uint64_t> sizes{1 + below(20), 1 + below(20), below(5)};
        for (std::size_t t = 0; t < 3; ++t) {
            std::string text = "id,x\n";
            for (std::uint64_t v = 0; v < sizes[t]; ++v)
                text += fmt::format("{},{}\n", 100 * v, t);
            write(fmt::format("v{}.csv", t), text);
        }
        const bool directed = below(2) == 0;
        struct Ends {
            std::size_t from;
            std::size_t to;
        };
        const std::vector<Ends> ends{{0, 1}, {1, 1}, {0, 1}, {0, 0}};
        std::string toml;
        for (int t = 0; t < 3; ++t)
            toml += fmt::format(
                "[[vertices]]\ntype = \"t{}\"\nfiles = \"v{}.csv\"\nfeatures = "
                "[\"x\"]\n",
                t, t);
        const std::vector<std::uint64_t> first{0, sizes[0], sizes[0] + sizes[1]};
        std::map<VertexId, std::set<std::pair<VertexId, int>>> rows;
        for (std::size_t e = 0; e < ends.size(); ++e) {
            std::string text = "source,target\n";
            const auto [from, to] = ends[e];
            for (std::uint64_t i = below(60); i > 0; --i) {
                const std::uint64_t u = below(sizes[from]);
                const std::uint64_t v = below(sizes[to]);
                text += fmt::format("{},{}\n", 100 * u, 100 * v);
                const VertexId source = first[from] + u;
                const VertexId target = first[to] + v;
                if (source == target) continue;
                rows[target].insert({source, static_cast<int>(e)});
                const int back = from == to ? static_cast<int>(e) : e == 0 ? 4 : 5;
                if (!directed) rows[source].insert({target, back});
            }
            write(fmt::format("e{}.csv", e), text);
            toml += fmt::format(
                "[[edges]]\ntype = \"e{}\"\nfrom = \"t{}\"\nto = \"t{}\"\nfiles = "
                "\"e{}.csv\"\n",
                e, from, to, e);
        }
        graph::ImportOptions options = schema(toml);
        options.directed = directed;
        const graph::Dataset data = import(options);
        for (VertexId v = 0; v < data.info().vertices; ++v) {
            std::vector<VertexId> ids;
            std::vector<int> types;
            for (const auto& [id, type] : rows[v]) {
                ids.push_back(id);
                types.push_back(type);
            }
            EXPECT_EQ(rows_of(data.topology())[v], ids) << "seed " << seed << ", vertex " << v;
            EXPECT_EQ(types_of_row(data, v), types) << "seed " << seed << ", vertex " << v;
        }
    }
}

TEST_F(TypedTables, WhatIsRefused) {
    const std::string shop = shop_schema;
    refuse(replaced(shop, "to = \"tag\"", "to = \"tags\""), {"'has'", "'tags'", "line"});
    refuse(replaced(shop, "from = \"user\"\nto = \"item\"\n", ""), {"'buys'", "do not say"});
    refuse(replaced(shop, "type = \"knows\"", "type = \"buys\""), {"buys", "edges"});
    refuse(replaced(replaced(shop, "type = \"tag\"", "type = \"a tag\""), "to = \"tag\"",
                    "to = \"a tag\""),
           {"invalid name of a type: 'a tag'"});
    refuse(replaced(shop, "type = \"knows\"", "type = \"rev_buys\""), {"go back as 'rev_buys'"});
    refuse(replaced(shop, "features = [\"age\"]", "features = [\"age\"]\nlabel = \"age\""),
           {"2 types", "labels"});
    refuse(replaced(shop, "files = \"knows.csv\"", "files = \"knows.csv\"\nfeatures = [\"x\"]"),
           {"'knows'", "features"});
    refuse(replaced(shop, "files = \"knows.csv\"", "files = \"knows.csv\"\nlabel = \"x\""),
           {"'knows'", "'label'", "several types"});
    refuse(replaced(shop, "files = \"knows.csv\"", "files = \"knows.csv\"\nsplit = \"x\""),
           {"'knows'", "'split'", "several types"});
}

TEST_F(TypedTables, AnIdOfAnotherTypeIsUnknown) {
    write_shop();
    write("has.csv", "source,target\n7,red\nann,red\n");
    expect_error([&] { import(schema(shop_schema)); }, ErrorKind::input,
                 {"has.csv", "line 3", "source", "ann"});
    graph::ImportOptions options = schema(shop_schema);
    options.unknown = graph::UnknownIds::drop;
    const graph::Dataset data = import(options);
    EXPECT_EQ(data.info().types.edges[2].edges, 1U);
}

TEST_F(TypedTables, OptionsOfOneTypeAreRefused) {
    write_shop();
    graph::ImportOptions options = schema(shop_schema);
    options.features = "random:4";
    expect_error([&] { import(options); }, ErrorKind::usage, {"--features"});
}

TEST_F(TypedTables, TheSameForAnyNumberOfThreads) {
    const graph::Dataset data = shop();
    const std::string first = data.folder().manifest().at("arrays").dump();
    set_thread_count(1);
    const std::string again = shop().folder().manifest().at("arrays").dump();
    set_thread_count(0);
    EXPECT_EQ(first, again);
}

/// What lies on disk and is not what types promise is found.
TEST_F(TypedTables, DamageIsFound) {
    const graph::Dataset data = shop();
    const std::vector<std::uint8_t> right(data.edge_data().type.begin(),
                                          data.edge_data().type.end());
    const auto check = [&](std::vector<std::uint8_t> types, const std::string& word) {
        const auto of = [&](VertexId v) { return data.info().types.of(v); };
        expect_error(
            [&] {
                graph::check_edge_types(data.topology(), types, data.info().types, {of, of},
                                        "here");
            },
            ErrorKind::input, {word});
    };
    auto wrong = right;
    wrong[0] = 200;
    check(wrong, "200");
    wrong = right;
    wrong[0] = 0;
    check(wrong, "joins vertices of others");
    Json manifest = data.folder().manifest();
    manifest["vertex_types"][0]["vertices"] = 2U;
    expect_error([&] { static_cast<void>(graph::dataset_info(manifest, "here")); },
                 ErrorKind::input, {"as many vertices"});
    manifest = data.folder().manifest();
    manifest["edge_types"][0]["from"] = "nobody";
    expect_error([&] { static_cast<void>(graph::dataset_info(manifest, "here")); },
                 ErrorKind::input, {"nobody"});
}

class TypedExport : public TypedTables {
protected:
    std::string exported(const graph::Dataset& data, graph::TableChoice choice) {
        const auto file = folder_ / "table.csv";
        graph::export_table(graph::DatasetExport(data), choice, graph::OutputFormat::csv, file,
                            true, Progress::none());
        return read_text(file, 1 << 20);
    }
};

TEST_F(TypedExport, TablesOfOneTypeComeBackAsTheyWere) {
    const graph::Dataset data = shop();
    using graph::GraphTable;
    EXPECT_EQ(exported(data, {GraphTable::vertices, "item"}),
              "id,x0,x1,label,split\n7,1.5,2,toy,train\n8,2.5,3,book,test\n9,4,1,,\n");
    EXPECT_EQ(exported(data, {GraphTable::vertices, "user"}),
              "id,x0,split\nann,30,\nbob,40,\n7,50,\n");
    EXPECT_EQ(exported(data, {GraphTable::edges, "buys"}), "source,target\nann,7\n7,8\nbob,9\n");
    EXPECT_EQ(exported(data, {GraphTable::edges, "knows"}), "source,target\nann,bob\nann,7\n");
    EXPECT_EQ(exported(data, {GraphTable::edges, "rev_has"}), "source,target\nred,7\nann,7\n");
    expect_error(
        [&] {
            exported(data, {GraphTable::edges, ""});
        },
        ErrorKind::usage, {"several", "--type"});
    expect_error(
        [&] {
            exported(data, {GraphTable::vertices, "buys"});
        },
        ErrorKind::usage, {"buys"});
}

}  // namespace
}  // namespace rudder::test
