// What tables are refused for: file, line, column, value and remedy.
#include "graph/tables/table_writer.hpp"

#include "tables_support.hpp"

namespace rudder::test {
namespace {

class TablesRefused : public TablesTest {
protected:
    const std::string edges_ = "source,target\na,b\n";
};

TEST_F(TablesRefused, DuplicateIds) {
    refuse(two("id,x\na,1\nb,2\n\"a\",3\n", edges_),
           {"id 'a' occurs twice", "nodes.csv, line 4, column 'id'", "line 2", "its own"});
}

TEST_F(TablesRefused, IdsThatAreMissingOrMixed) {
    refuse(two("id,x\na,1\n,2\n", edges_), {"nodes.csv, line 3, column 'id'", "no id"});
    refuse(two("id,x\n1,1\nb,2\n", edges_),
           {"nodes.csv, line 3, column 'id'", "invalid id: 'b'", "id_kind"});
    refuse(two("id,x\na,1\nb,2\n", "source,target\na,\n"),
           {"edges.csv, line 2, column 'target'", "lacks a vertex"});
}

TEST_F(TablesRefused, EdgesToUnknownVertices) {
    refuse(two("id,x\na,1\nb,2\n", "source,target\na,b\nc,a\n"),
           {"edges.csv, line 3, column 'source'", "unknown vertex 'c'", "--unknown drop"});
}

TEST_F(TablesRefused, MixedTypesInAColumn) {
    refuse(two("id,x\na,1\nb,tall\n", edges_),
           {"nodes.csv, line 3, column 'x'", "invalid number: 'tall'", "schema"});
    refuse(two("id,x\na,1\nb,inf\n", edges_), {"line 3, column 'x'", "not finite"});
    refuse(two("id,x\na,1\nb,1e39\n", edges_), {"line 3, column 'x'", "float32"});
}

TEST_F(TablesRefused, MissingValues) {
    refuse(two("id,x\na,1\nb,\n", edges_),
           {"nodes.csv, line 3, column 'x'", "missing", "mean", "--missing"});
}

TEST_F(TablesRefused, Splits) {
    refuse(two("id,split\na,train\nb,holdout\n", edges_),
           {"nodes.csv, line 3, column 'split'", "'holdout'", "train, valid, test"});
}

TEST_F(TablesRefused, WeightsAndTimes) {
    const std::string nodes = "id,x\na,1\nb,2\n";
    for (const std::string bad : {"-1", "nan", "", "inf", "1e39"}) {
        refuse(two(nodes, "source,target,weight\na,b,0.5\nb,a," + bad + "\n"),
               {"edges.csv, line 3, column 'weight'", "invalid"});
    }
    refuse(two(nodes, "source,target,time\na,b,5\nb,a,yesterday\n"),
           {"edges.csv, line 3, column 'time'", "invalid integer: 'yesterday'"});
    refuse(two(nodes, "source,target,time\na,b,\n"), {"line 2, column 'time'", "no time"});
}

TEST_F(TablesRefused, TargetsAndSplitsOfEdges) {
    const std::string nodes = "id,x\na,1\nb,2\n";
    refuse(two(nodes, "source,target,split\na,b,train\nb,a,later\n"),
           {"edges.csv, line 3, column 'split'", "'later'", "train, valid, test"});
    refuse(two(nodes, "source,target,label\na,b,0.5\nb,a,red\n"),
           {"edges.csv, line 3, column 'label'", "invalid number: 'red'"});
    refuse(two(nodes, "source,target,label\na,b,0.5\nb,a,1e39\n"),
           {"edges.csv, line 3, column 'label'", "float32"});
}

TEST_F(TablesRefused, Headers) {
    refuse(two("name,x\na,1\n", edges_), {"nodes.csv", "missing column 'id'", "name, x"});
    refuse(two("id,x\na,1\n", "a,b\n1,2\n"), {"edges.csv", "missing column 'source'"});
}

TEST_F(TablesRefused, Lists) {
    write("v.csv", "id,x\na,1;2\nb,1;2;3\n");
    write("e.csv", edges_);
    refuse(schema("[[vertices]]\nfiles = \"v.csv\"\nfeatures = [{column = \"x\", kind = "
                  "\"list\"}]\n[[edges]]\nfiles = \"e.csv\"\n"),
           {"v.csv, line 3, column 'x'", "3 numbers", "2"});
}

TEST_F(TablesRefused, ParquetInABuildWithout) {
    if (graph::has_parquet()) GTEST_SKIP() << "this build reads Parquet";
    graph::ImportOptions options = two("PAR1...", edges_);
    refuse(options, {"nodes.csv", "no Arrow", "scripts/setup --parquet"}, ErrorKind::usage);
    expect_error([] { static_cast<void>(graph::output_format("x.parquet")); }, ErrorKind::usage,
                 {"no Arrow"});
}

TEST_F(TablesRefused, Schemas) {
    write("v.csv", "id,x\na,1\nb,2\n");
    write("e.csv", edges_);
    const std::string vertices = "[[vertices]]\nfiles = \"v.csv\"\n";
    const std::string edges = "[[edges]]\nfiles = \"e.csv\"\n";
    refuse(schema(vertices + "lable = \"x\"\n" + edges),
           {"schema.toml, line 3", "unknown key 'lable'", "did you mean 'label'"});
    refuse(schema(vertices + "features = [{column = \"x\", kind = \"colour\"}]\n" + edges),
           {"schema.toml, line 3", "invalid kind: 'colour'", "category"});
    refuse(schema(vertices +
                  "features = [{column = \"x\", kind = \"category\", encode = "
                  "\"learnable\"}]\n" +
                  edges),
           {"schema.toml, line 3", "learnable categories are not supported yet"});
    refuse(schema(vertices + edges + "from = \"user\"\n"),
           {"schema.toml, line 3", "'user', which has no table"});
    refuse(schema("[[vertices]]\nid = 3\n"), {"schema.toml, line 2", "not a text"});
    refuse(schema("[[vertices]]\nid = \"id\"\n" + edges), {"no files"});
    refuse(schema("vertices = [\n"), {"schema.toml, line", "not valid TOML"});
    refuse(schema(vertices), {"no [[edges]]"});
    refuse(schema(vertices + "features = [\"y\"]\n" + edges), {"v.csv", "missing column 'y'"});
    refuse(schema(vertices + vertices + "type = \"user\"\n" + edges),
           {"schema.toml, line 6", "do not say which vertices they join"});
}

}  // namespace
}  // namespace rudder::test
