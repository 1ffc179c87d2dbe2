// --config, and the config.toml that is written beside every result.
#include "core/json.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class ConfigFile : public CliTest {};

TEST_F(ConfigFile, IsReadAndWhatIsTypedWins) {
    write("c.toml", "vertices = 300\nclasses = 4\n");
    const Json read = ok_json({"generate", "sbm", "a", "--config", "c.toml"});
    EXPECT_EQ(read.at("vertices"), 300);
    EXPECT_EQ(read.at("classes"), 4);
    const Json typed = ok_json({"generate", "sbm", "b", "--config=c.toml", "--vertices", "200"});
    EXPECT_EQ(typed.at("vertices"), 200);
    EXPECT_EQ(typed.at("classes"), 4);
}

TEST_F(ConfigFile, MayHoldTheCommonOptions) {
    write("c.toml", "json = true\nthreads = 1\nforce = true\n");
    write("a/kept", "");
    const std::string out = ok({"generate", "grid", "a", "--config", "c.toml"});
    EXPECT_EQ(parse_json(out, "standard output").at("kind"), "dataset");
}

TEST_F(ConfigFile, BadKeysAndValues) {
    write("c.toml", "seed = 1\nvertixes = 3\n");
    refuse({"generate", "sbm", "out", "--config", "c.toml"}, 2,
           {"'vertixes'", "c.toml, line 2", "did you mean 'vertices'?"});
    write("c.toml", "xyzzy = 3\n");
    refuse({"generate", "sbm", "out", "--config", "c.toml"}, 2, {"see 'rudder generate --help'"});
    write("c.toml", "method = 'ldg'\n");
    refuse({"generate", "sbm", "out", "--config", "c.toml"}, 2, {"'method'", "c.toml, line 1"});
    write("c.toml", "vertices = 'many'\n");
    refuse({"generate", "sbm", "out", "--config", "c.toml"}, 2, {"--vertices", "many"});
    write("c.toml", "vertices = [\n");
    refuse({"generate", "sbm", "out", "--config", "c.toml"}, 3, {"c.toml, line", "column"});
    refuse({"generate", "sbm", "out", "--config", "absent.toml"}, 3, {"absent.toml"});
    refuse({"generate", "sbm", "out", "--config"}, 2, {"--config"});
}

TEST_F(ConfigFile, WrittenBesideAGraphMakesItAgain) {
    ok({"generate", "sbm", "a", "--vertices", "500", "--seed", "9", "--classes", "3", "--features",
        "random:5", "--split", "per-class:5/20/30", "--inside", "0.7"});
    ok({"generate", "sbm", "b", "--config", "a/config.toml"});
    EXPECT_EQ(checksums_of(folder_ / "a"), checksums_of(folder_ / "b"));
    EXPECT_EQ(bytes_of(folder_ / "a/config.toml"), bytes_of(folder_ / "b/config.toml"));
}

TEST_F(ConfigFile, WrittenBesideAStandInMakesItAgain) {
    ok({"generate", "like:arxiv", "a", "--scale", "0.005", "--seed", "9"});
    ok({"generate", "like:arxiv", "b", "--config", "a/config.toml"});
    EXPECT_EQ(checksums_of(folder_ / "a"), checksums_of(folder_ / "b"));
    EXPECT_EQ(bytes_of(folder_ / "a/config.toml"), bytes_of(folder_ / "b/config.toml"));
}

TEST_F(ConfigFile, WrittenBesideAnImportMakesItAgain) {
    write("e.txt", "0 1\n1 1\n1 2\n0 1\n3 4\n");
    ok({"import", "e.txt", "a", "--directed", "--keep-self-loops", "--vertices", "9", "--features",
        "random:3", "--feature-type", "float16", "--seed", "4", "--split", "50/25/25"});
    ok({"import", "e.txt", "b", "--config", "a/config.toml"});
    EXPECT_EQ(checksums_of(folder_ / "a"), checksums_of(folder_ / "b"));
    EXPECT_EQ(ok_json({"info", "a"}), ok_json({"info", "b"}));
}

TEST_F(ConfigFile, WrittenBesideAPartitionMakesItAgain) {
    ok({"generate", "sbm", "data", "--vertices", "1000"});
    ok({"partition", "data", "a", "--parts", "3", "--method", "fennel", "--passes", "2", "--seed",
        "5", "--balance", "vertices", "--order", "natural", "--cluster-size", "50", "--slack",
        "0.1"});
    ok({"partition", "data", "b", "--config", "a/config.toml"});
    EXPECT_EQ(checksums_of(folder_ / "a"), checksums_of(folder_ / "b"));
    EXPECT_EQ(ok_json({"info", "a"}), ok_json({"info", "b"}));
}

TEST_F(ConfigFile, TheManifestSaysHowItWasMade) {
    ok({"generate", "grid", "a", "--rows", "2", "--columns", "3"});
    const Json made = read_json(folder_ / "a/manifest.json").at("made_by");
    EXPECT_EQ(made.at("verb"), "generate");
    EXPECT_EQ(made.at("options").at("KIND"), "grid");
    EXPECT_EQ(made.at("options").at("rows"), "2");
    ok({"partition", "a", "p", "--parts", "2"});
    const Json manifest = read_json(folder_ / "p/manifest.json");
    EXPECT_EQ(manifest.at("made_by").at("verb"), "partition");
    EXPECT_EQ(manifest.at("source"), made);
}

}  // namespace
}  // namespace rudder::test
