// Tables on the command line: in by import, out by predict and export, in the user's ids.
#include <sstream>

#include <fmt/format.h>

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class TablesCli : public CliTest {
protected:
    /// Two communities of ten, with text ids, features and labels.
    void tables() {
        std::string nodes = "id,x,y,note,label,split\n";
        std::string edges = "source,target\n";
        for (int v = 0; v < 20; ++v) {
            const bool left = v < 10;
            nodes += fmt::format("\"n,{}\",{},{},some text,{},{}\n", v, left ? 1 : -1, v % 3,
                                 left ? "left" : "right",
                                 v % 5 == 0   ? "valid"
                                 : v % 5 == 1 ? "test"
                                              : "train");
            for (int step = 1; step < 4; ++step)
                edges += fmt::format("\"n,{}\",\"n,{}\"\n", v, (left ? 0 : 10) + (v + step) % 10);
        }
        write("nodes.csv", nodes);
        write("edges.csv", edges);
    }
    std::vector<std::string> lines(const std::string& file) {
        std::vector<std::string> all;
        std::istringstream text(bytes_of(folder_ / file));
        for (std::string line; std::getline(text, line);)
            all.push_back(line);
        return all;
    }
};

TEST_F(TablesCli, ThereAndBackInTheUsersIds) {
    tables();
    const Outcome said = rudder({"import", "nodes.csv", "edges.csv", "graph"}, here());
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_THAT(said.err, HasSubstr("features: 2 columns: x, y"));
    EXPECT_THAT(said.err, HasSubstr("left out, since their first cell is not a number: note"));
    EXPECT_EQ(ok_json({"info", "graph", "--check"}).at("ids"), "text");
    ok({"partition", "graph", "parts", "--parts", "2", "--method", "hash"});
    EXPECT_EQ(ok_json({"info", "parts", "--check"}).at("ids"), "text");
    ok({"train", "parts", "--ranks", "2", "--epochs", "30", "--hidden", "8", "--batch", "4",
        "--dropout", "0", "--lr", "0.02", "--eval-every", "0", "--out", "run", "--quiet"});
    ok({"predict", "run", "answers.csv", "--embeddings"});
    const auto answers = lines("answers.csv");
    ASSERT_EQ(answers.size(), 21U);
    EXPECT_THAT(answers[0], testing::StartsWith("id,class,score_left,score_right,embedding_0,"));
    int right = 0;
    for (int v = 0; v < 20; ++v) {
        const std::string& line = answers[static_cast<std::size_t>(v) + 1];
        EXPECT_THAT(line, testing::StartsWith(fmt::format("\"n,{}\",", v)));
        if (line.find(v < 10 ? ",left," : ",right,") != std::string::npos) ++right;
    }
    EXPECT_EQ(right, 20);
    // The same vertices and edges from the partition, which import reads again.
    ok({"export", "parts", "v.csv"});
    ok({"export", "parts", "e.csv", "--table", "edges"});
    EXPECT_EQ(lines("v.csv")[0], "id,x0,x1,label,split,part");
    EXPECT_THAT(lines("v.csv")[1], testing::StartsWith("\"n,0\",1,0,left,valid,"));
    ok({"export", "graph", "g.csv"});
    ok({"import", "g.csv", "e.csv", "again", "--quiet"});
    const auto first = checksums_of(folder_ / "graph");
    EXPECT_EQ(checksums_of(folder_ / "again"), first);
    ok({"predict", "run", "answers.npz"});
    EXPECT_THAT(bytes_of(folder_ / "answers.npz"), HasSubstr("id.npy"));
}

TEST_F(TablesCli, Refused) {
    tables();
    ok({"generate", "sbm", "graph", "--vertices", "50"});
    for (const std::string ending : {"x.txt", "x.CSV", "x.npy"}) {
        refuse({"export", "graph", ending}, 2, {"unknown ending", ".npz, .csv or .parquet"});
        refuse({"predict", "graph", ending}, 2, {"unknown ending", ".npz, .csv or .parquet"});
    }
    refuse({"export", "graph", "x.npz", "--table", "edges"}, 2, {"--table"});
    refuse({"import", "nodes.csv", "edges.csv", "out", "--format", "csv"}, 2,
           {"--format does not go with tables"});
    refuse({"import", "nodes.csv", "edges.csv", "out", "--unknown", "keep"}, 2, {"refuse", "drop"});
    write("edges.csv", "source,target\n\"n,1\",nobody\n");
    refuse({"import", "nodes.csv", "edges.csv", "out", "--quiet"}, 3,
           {"edges.csv, line 2, column 'target'", "unknown vertex 'nobody'", "--unknown drop"});
    const Outcome dropped =
        rudder({"import", "nodes.csv", "edges.csv", "out", "--unknown", "drop"}, here());
    EXPECT_EQ(dropped.code, 0);
    EXPECT_THAT(dropped.err, HasSubstr("1 of 1 edges"));
}

TEST_F(TablesCli, IdsOfGraphsWithoutAnyAreNumbers) {
    ok({"generate", "sbm", "graph", "--vertices", "50"});
    ok({"export", "graph", "e.csv", "--table", "edges"});
    EXPECT_EQ(lines("e.csv")[0], "source,target");
    EXPECT_FALSE(ok_json({"info", "graph"}).contains("ids"));
    EXPECT_EQ(read_json(folder_ / "graph" / "manifest.json").at("version"), 1);
}

}  // namespace
}  // namespace rudder::test
