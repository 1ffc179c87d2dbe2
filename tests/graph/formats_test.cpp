// Which reader takes a file, and what folders as OGB has them are refused for.
#include <set>

#include <fmt/format.h>

#include "rudder/graph/io/graph_reader.hpp"

#include "io_support.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

class GraphFormats : public ImportTest {
protected:
    std::string format_of(const std::string& name, const std::string& bytes = "0 1\n") {
        return std::string(graph::detect_graph_format(write(name, bytes)));
    }
};

TEST_F(GraphFormats, FirstBytesComeBeforeNames) {
    EXPECT_EQ(format_of("a.txt", zip({{"x", "y"}})), "npz");
    EXPECT_EQ(format_of("nameless", std::string("PK\x05\x06", 4) + std::string(18, '\0')), "npz");
    EXPECT_EQ(format_of("a.csv", "%%MatrixMarket matrix"), "mtx");
    EXPECT_EQ(format_of("a.csv", "%MatrixMarket"), "csv");
}

TEST_F(GraphFormats, EveryEnding) {
    for (const char* name :
         {"a.txt", "a.edges", "a.edgelist", "a.el", "a.tab", "a.TXT", "a.b.Txt", "a.txt.gz"})
        EXPECT_EQ(format_of(name), "edges") << name;
    for (const char* name : {"a.csv", "a.tsv", "a.csv.gz"})
        EXPECT_EQ(format_of(name), "csv") << name;
    for (const char* name : {"a.bin", "a.u32", "a.u64", "a.raw"})
        EXPECT_EQ(format_of(name), "binary") << name;
    for (const char* name : {"a.metis", "a.graph"})
        EXPECT_EQ(format_of(name), "metis") << name;
    EXPECT_EQ(format_of("a.npz"), "npz");
    EXPECT_EQ(format_of("a.mtx"), "mtx");
    for (const char* name : {"a", "a.gz", "a.zip", "txt", "a.gz.txt2"}) {
        const Refusal refusal = refusal_of([&] { (void)format_of(name); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage) << name;
        EXPECT_EQ(refusal.where, (folder_ / name).string());
        EXPECT_THAT(refusal.remedy, testing::HasSubstr("npz, edges, csv, binary, mtx, metis, ogb"));
    }
}

TEST_F(GraphFormats, FoldersAndNames) {
    std::filesystem::create_directories(folder_ / "ogb" / "raw");
    EXPECT_EQ(graph::detect_graph_format(folder_ / "ogb"), "ogb");
    EXPECT_EQ(refusal_of([&] { (void)graph::detect_graph_format(folder_ / "ogb" / "raw"); }).kind,
              ErrorKind::usage);
    std::set<std::string_view> names(graph::graph_formats().begin(), graph::graph_formats().end());
    EXPECT_EQ(names.size(), graph::graph_formats().size()) << "no name twice";
    for (const std::string_view name : graph::graph_formats())
        EXPECT_NE(graph::make_graph_reader(name), nullptr);
    const Refusal refusal = refusal_of([] { (void)graph::make_graph_reader("metiss"); });
    EXPECT_EQ(refusal.kind, ErrorKind::usage);
    EXPECT_EQ(refusal.problem, "unknown format 'metiss'");
    EXPECT_THAT(refusal.remedy, testing::StartsWith("did you mean metis?"));
}

/// A small folder of OGB whose files can be replaced.
class OgbFolders : public ImportTest {
protected:
    void SetUp() override {
        put("raw/edge", "0,1\n1,2\n");
        put("raw/num-node-list", "3\n");
    }
    void put(const std::string& name, const std::string& text) {
        write("ogb/" + name + ".csv.gz", gzip(text));
    }
    void drop(const std::string& name) {
        std::filesystem::remove_all(folder_ / ("ogb/" + name + ".csv.gz"));
    }
    void put_split(const std::string& scheme, const std::string& test = "") {
        put("split/" + scheme + "/train", "0\n");
        put("split/" + scheme + "/valid", "");
        put("split/" + scheme + "/test", test);
    }
    std::filesystem::path ogb_ = folder_ / "ogb";
};

TEST_F(OgbFolders, EdgesAndTheNumberOfVerticesAreEnough) {
    const graph::Dataset data = import(ogb_);
    EXPECT_EQ(rows_of(data.topology()), (std::vector<std::vector<VertexId>>{{1}, {0, 2}, {1}}));
    EXPECT_FALSE(data.info().features.present());
    EXPECT_EQ(data.info().targets.kind, graph::TargetKind::none);
}

TEST_F(OgbFolders, CountsThatDisagree) {
    put("raw/num-node-list", "3\n4\n");
    refuse(ogb_, {"num-node-list.csv.gz, line 2", "more than one graph", "ogbn-"});
    put("raw/num-node-list", "");
    refuse(ogb_, {"num-node-list.csv.gz, line 1", "empty"});
    put("raw/num-node-list", "three\n");
    refuse(ogb_, {"num-node-list.csv.gz, line 1, column 1", "'three'"});
    put("raw/num-node-list", "3\n");
    put("raw/num-edge-list", "5\n");
    refuse(ogb_, {"edge.csv.gz", "there are 2 edges, num-edge-list.csv.gz says 5"});
    put("raw/num-edge-list", "2\n");
    EXPECT_EQ(import(ogb_).info().vertices, 3U);
    std::filesystem::remove_all(folder_ / "out");
    refuse(graph::ImportOptions{.input = ogb_, .output = {}, .vertices = 4},
           {"the folder says 3 vertices", "--vertices"}, ErrorKind::usage);
    put("raw/num-node-list", "99999999999\n");
    refuse(ogb_, {"num-node-list.csv.gz", "99999999999 vertices"});
    drop("raw/num-node-list");
    refuse(ogb_, {"num-node-list.csv.gz is missing", (ogb_ / "raw").string()});
}

TEST_F(OgbFolders, LabelsThatDisagree) {
    put("raw/node-label", "");
    refuse(ogb_, {"node-label.csv.gz", "0 labels for 3 vertices"});
    put("raw/node-label", "1\n2 3\n1\n");
    refuse(ogb_, {"node-label.csv.gz, line 2, column 1", "too long"});
    put("raw/node-label", "1,2\n3\n1,1\n");
    refuse(ogb_, {"node-label.csv.gz, line 2", "ends"});
    put("raw/node-label", "0\n1e300\n1\n");
    refuse(ogb_, {"node-label.csv.gz, line 2", "too large"});
    put("raw/node-label", "0,1\n2,0\n1,1\n");
    refuse(ogb_, {"node-label.csv.gz"});
    put("raw/node-label", "1\nnan\n0\n");
    const graph::Dataset data = import(ogb_);
    EXPECT_EQ(data.info().targets.kind, graph::TargetKind::classes);
    EXPECT_THAT(data.targets().classes, testing::ElementsAre(1, -1, 0));
}

TEST_F(OgbFolders, SplitsThatDisagree) {
    put("raw/node-label", "1\n0\n0\n");
    put_split("time", "1\n");
    const graph::Dataset data = import(ogb_);
    EXPECT_THAT(data.roles(),
                testing::ElementsAre(graph::Role::train, graph::Role::test, graph::Role::none));
    std::filesystem::remove_all(folder_ / "out");
    put_split("time", "0\n");
    refuse(ogb_, {"test.csv.gz", "two sets"});
    put_split("time", "-1\n");
    refuse(ogb_, {"test.csv.gz, line 1, column 1", "negative"});
    drop("split/time/test");
    refuse(ogb_, {"test.csv.gz is missing"});
    put_split("time");
    put_split("sales");
    refuse(ogb_, {"more than one way to split", (ogb_ / "split").string()});
}

}  // namespace
}  // namespace rudder::test
