// Graphs that are odd but right: each goes through import, partition, check and export.
#include "core/json.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

using Int = std::int32_t;

class MustWork : public CliTest {
protected:
    /// Imports an archive, checks it, partitions it in all ways, checks those, exports both, and
    /// expects the same arrays when what was exported is imported again.
    Json whole_way(const std::vector<ZipEntry>& entries, const std::string& parts = "2",
                   const Words& options = {}) {
        write("in.npz", zip(entries));
        return whole_way("in.npz", parts, options);
    }

    Json whole_way(const std::string& file, const std::string& parts, const Words& options) {
        Words import{"import", file, "data"};
        import.insert(import.end(), options.begin(), options.end());
        const Json imported = ok_json(import);
        Json info = ok_json({"info", "data", "--check"});
        EXPECT_EQ(info.at("checked"), true);
        info.erase("checked");
        EXPECT_EQ(info, imported);
        for (const std::string method : {"metis", "ldg", "fennel", "random", "hash"}) {
            const Outcome made = rudder({"partition", "data", method, "--parts", parts, "--method",
                                         method, "--json", "--quiet"},
                                        here());
            EXPECT_EQ(made.code, 0) << made.err;
            Json figures = ok_json({"info", method, "--check"});
            figures.erase("checked");
            EXPECT_EQ(figures, parse_json(made.out, "standard output"));
        }
        ok({"export", "data", "data.npz"});
        ok({"export", "metis", "metis.npz"});
        again("data.npz", options);
        again("metis.npz", options);
        return imported;
    }

    void again(const std::string& file, const Words& options) {
        Words import{"import", file, "again", "--force"};
        import.insert(import.end(), options.begin(), options.end());
        ok(import);
        EXPECT_EQ(checksums_of(folder_ / "again"), checksums_of(folder_ / "data")) << file;
    }
};

std::vector<ZipEntry> graph(std::int64_t vertices, const std::vector<Int>& src,
                            const std::vector<Int>& dst) {
    return {{"num_nodes", npy<std::int64_t>({vertices})}, {"src", npy(src)}, {"dst", npy(dst)}};
}

TEST_F(MustWork, IsolatedVertices) {
    const Json info = whole_way(graph(10, {3}, {7}));
    EXPECT_EQ(info.at("vertices"), 10);
    EXPECT_EQ(info.at("edges"), 2);
}

TEST_F(MustWork, OneVertex) {
    const Json info = whole_way(graph(1, {}, {}), "1");
    EXPECT_EQ(info.at("vertices"), 1);
}

TEST_F(MustWork, NoEdges) {
    const Json info = whole_way(graph(5, {}, {}));
    EXPECT_EQ(info.at("edges"), 0);
}

TEST_F(MustWork, SelfLoops) {
    EXPECT_EQ(whole_way(graph(3, {0, 1, 1}, {1, 1, 2})).at("self_loops"), 0);
    std::filesystem::remove_all(folder_ / "data");
    for (const char* made : {"metis", "ldg", "fennel", "random", "hash"})
        std::filesystem::remove_all(folder_ / made);
    std::filesystem::remove(folder_ / "data.npz");
    std::filesystem::remove(folder_ / "metis.npz");
    const Json info = whole_way(graph(3, {0, 1, 1}, {1, 1, 2}), "2", {"--keep-self-loops"});
    EXPECT_EQ(info.at("self_loops"), 1);
    EXPECT_EQ(info.at("edges"), 5);
}

TEST_F(MustWork, Duplicates) {
    const Json info = whole_way(graph(3, {0, 0, 1}, {1, 1, 2}), "3", {"--keep-duplicates"});
    EXPECT_EQ(info.at("edges"), 6);
    EXPECT_EQ(info.at("duplicates"), 2);
}

TEST_F(MustWork, DuplicatesAreDroppedUnlessAsked) {
    EXPECT_EQ(whole_way(graph(3, {0, 0, 1, 1}, {1, 1, 0, 2})).at("edges"), 4);
}

TEST_F(MustWork, NoTrainingVertex) {
    auto entries = graph(4, {0, 1, 2}, {1, 2, 3});
    entries.push_back({"y", npy<Int>({0, 1, 0, 1})});
    entries.push_back({"train", npy<Int>({})});
    entries.push_back({"test", npy<Int>({0, 1})});
    const Json info = whole_way(entries);
    EXPECT_EQ(info.at("train"), 0);
    EXPECT_EQ(info.at("test"), 2);
}

TEST_F(MustWork, NoFeatures) {
    EXPECT_TRUE(whole_way(graph(3, {0, 1}, {1, 2})).at("features").is_null());
}

TEST_F(MustWork, NoLabels) {
    auto entries = graph(3, {0, 1}, {1, 2});
    entries.push_back({"x", npy<float>({1, 2, 3, 4, 5, 6}, 2)});
    const Json info = whole_way(entries);
    EXPECT_EQ(info.at("targets"), "none");
    EXPECT_EQ(info.at("classes"), 0);
    EXPECT_EQ(info.at("features").at("width"), 2);
    EXPECT_EQ(info.at("features").at("type"), "float32");
}

TEST_F(MustWork, UnlabelledVertices) {
    auto entries = graph(5, {0, 1}, {1, 2});
    entries.push_back({"y", npy<Int>({0, -1, 1, -1, 0})});
    const Json info = whole_way(entries);
    EXPECT_EQ(info.at("labelled"), 3);
    EXPECT_EQ(info.at("classes"), 2);
}

TEST_F(MustWork, ClassWithoutMembers) {
    auto entries = graph(3, {0, 1}, {1, 2});
    entries.push_back({"y", npy<Int>({0, 4, 4})});
    entries.push_back({"num_classes", npy<Int>({7})});
    EXPECT_EQ(whole_way(entries).at("classes"), 7);
}

TEST_F(MustWork, NamesWithSpacesAndNonAsciiLetters) {
    write("Grüße aus/данные 中文.npz", zip(path_graph()));
    ok({"import", "Grüße aus/данные 中文.npz", "mein Graph ß"});
    ok({"partition", "mein Graph ß", "die Teile ☂", "--parts", "2"});
    ok({"info", "die Teile ☂", "--check"});
    EXPECT_THAT(ok({"info", "mein Graph ß", "die Teile ☂"}), HasSubstr("die Teile ☂"));
    EXPECT_EQ(ok_json({"export", "die Teile ☂", "zurück zu.npz"}).at("output"), "zurück zu.npz");
    EXPECT_EQ(names_in(folder_.path()),
              (std::set<std::string>{"Grüße aus", "mein Graph ß", "die Teile ☂", "zurück zu.npz"}));
}

/// A data set whose files are holes, of more edges than 31 bits count.
class SparseDataset : public MustWork {
protected:
    void make(std::uint64_t edges) {
        ok({"generate", "grid", "big", "--rows", "1", "--columns", "1"});
        Json manifest = read_json(folder_ / "big/manifest.json");
        manifest["edges"] = edges;
        manifest["duplicates"] = 0;
        Json& arrays = manifest["arrays"];
        arrays["neighbours"]["shape"] = {edges};
        const auto width = arrays["neighbours"]["type"] == "uint32" ? 4U : 8U;
        std::filesystem::resize_file(folder_ / "big/neighbours.bin", edges * width);
        write("big/manifest.json", manifest.dump());
        const std::vector<std::uint64_t> offsets{0, edges};
        write("big/offsets.bin", raw(offsets));
    }
};

TEST_F(SparseDataset, MoreThan2To31Edges) {
    const std::uint64_t edges = (std::uint64_t{1} << 31) + 10;
    make(edges);
    EXPECT_EQ(ok_json({"info", "big"}).at("edges"), edges);
    EXPECT_THAT(ok({"info", "big"}), HasSubstr("2,147,483,658 stored"));
}

TEST_F(SparseDataset, MoreThan2To32Edges) {
    const std::uint64_t edges = (std::uint64_t{1} << 33) + 1;
    make(edges);
    EXPECT_EQ(ok_json({"info", "big"}).at("edges"), edges);
}

TEST_F(MustWork, AStandInHasThePublishedShape) {
    const Json made = ok_json({"generate", "like:arxiv", "data", "--scale", "0.02"});
    EXPECT_EQ(made.at("vertices"), 3387);  // of 169,343
    EXPECT_NEAR(made.at("edges").get<double>(), 2 * 0.02 * 1157799, 1000);
    EXPECT_EQ(made.at("features").at("width"), 128);
    EXPECT_EQ(made.at("classes"), 40);
    EXPECT_NEAR(made.at("train").get<double>(), 0.537 * 3387, 2);
    // Another split and other features are the user's to choose.
    const Json other = ok_json({"generate", "like:arxiv", "other", "--scale", "0.02", "--features",
                                "none", "--split", "10/10/80"});
    EXPECT_NEAR(other.at("train").get<double>(), 339, 2);
    EXPECT_EQ(bytes_of(folder_ / "data/neighbours.bin"),
              bytes_of(folder_ / "other/neighbours.bin"));
}

TEST_F(MustWork, EveryVerbWithoutAProgressBarWhenPiped) {
    ok({"generate", "sbm", "data", "--vertices", "500"});
    ok({"partition", "data", "parts", "--parts", "3"});
    EXPECT_EQ(ok({"generate", "sbm", "data", "--vertices", "500", "--force", "--quiet"}), "");
    EXPECT_EQ(ok({"partition", "data", "parts", "--parts", "3", "--force", "--quiet"}), "");
    EXPECT_EQ(ok({"export", "data", "data.npz", "--quiet"}), "");
    EXPECT_EQ(names_in(folder_.path()), (std::set<std::string>{"data", "parts", "data.npz"}));
}

}  // namespace
}  // namespace rudder::test
