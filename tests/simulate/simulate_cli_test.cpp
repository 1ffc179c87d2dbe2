// rudder simulate: folders that the other verbs read, sweeps, what is refused, the scenario files.
#include <algorithm>
#include <filesystem>

#include "cli/cli_support.hpp"

namespace rudder::test {

namespace {

namespace fs = std::filesystem;

class SimulateCli : public CliTest {
protected:
    void SetUp() override { write("small.toml", scenario()); }

    static std::string scenario() {
        return "title = 'Small'\nranks = 4\n[graph]\nsource = 'like:arxiv'\nscale = 0.01\n"
               "method = 'ldg'\n[network]\nlatency = '50us'\nrate = '1gbit'\n"
               "[train]\nbatch = 16\nepochs = 3\n"
               "policy = 'window:4'\n";
    }

    /// The names and bytes of a folder's files.
    static std::map<std::string, std::string> files_of(const fs::path& folder) {
        std::map<std::string, std::string> files;
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            if (entry.is_regular_file())
                files[entry.path().lexically_relative(folder).string()] = bytes_of(entry.path());
        }
        return files;
    }
};

TEST_F(SimulateCli, LeavesARunThatOtherVerbsRead) {
    EXPECT_THAT(ok({"simulate", "small.toml", "--out", "run"}), HasSubstr("rows"));
    EXPECT_EQ(names_in(folder_ / "run"),
              (std::set<std::string>{"config.toml", "epochs.jsonl", "metrics.jsonl", "run.json",
                                     "scenario.toml", "summary.json"}));
    const Json summary = read_json(folder_ / "run/summary.json");
    EXPECT_EQ(summary.at("ranks"), 4);
    EXPECT_EQ(summary.at("simulated"), true);
    const Json& rows = summary.at("rows");
    EXPECT_EQ(rows.at("needed"), rows.at("local").get<std::uint64_t>() +
                                     rows.at("hit").get<std::uint64_t>() +
                                     rows.at("demand").get<std::uint64_t>());
    ok({"report", "run"});
    EXPECT_THAT(bytes_of(folder_ / "run/report.html"), HasSubstr("window:4"));
    EXPECT_THAT(ok({"explain", "run"}), HasSubstr("A step takes"));
    EXPECT_EQ(ok_json({"info", "run"}).at("state"), "finished");
}

TEST_F(SimulateCli, SaysThatItIsSimulated) {
    const std::string text = ok({"simulate", "small.toml", "--out", "run"});
    EXPECT_THAT(text, testing::StartsWith("Simulated: "));
    EXPECT_THAT(text, testing::Not(HasSubstr("loss")));
    ok({"report", "run"});
    const std::string page = bytes_of(folder_ / "run/report.html");
    EXPECT_THAT(page, HasSubstr("The run was simulated"));
    EXPECT_THAT(page, testing::Not(HasSubstr("No accuracy was measured")));
    EXPECT_THAT(page, HasSubstr("scenario.toml --out again"));
    const Json card = read_json(folder_ / "run/run.json");
    EXPECT_EQ(card.at("simulated"), true);
    EXPECT_EQ(card.at("host"), "simulated");
    EXPECT_EQ(card.at("profile"), "built-in:ethernet-10g");
    EXPECT_EQ(card.at("link"), "50us,1gbit");
    EXPECT_EQ(card.at("started"), "1970-01-01T00:00:00Z");
}

TEST_F(SimulateCli, ARunsOwnScenarioMakesItAgain) {
    ok({"simulate", "small.toml", "--out", "run", "--set", "train.policy=lru+every:4", "--set",
        "network.incast=0.1", "--set", "network.sums=two-level", "--set", "train.fanout=3,4",
        "--quiet"});
    ok({"simulate", "run/scenario.toml", "--out", "again", "--quiet"});
    EXPECT_EQ(files_of(folder_ / "run"), files_of(folder_ / "again"));
}

TEST_F(SimulateCli, TrainTakesItsConfiguration) {
    ok({"generate", "sbm", "graph", "--vertices", "400", "--quiet"});
    ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg", "--quiet"});
    ok({"simulate", "small.toml", "--out", "run", "--set", "graph.source=parts", "--quiet"});
    const Json plan = ok_json({"train", "parts", "--config", "run/config.toml", "--plan"});
    EXPECT_FALSE(plan.empty());
    EXPECT_THAT(bytes_of(folder_ / "run/config.toml"), HasSubstr("policy = 'window:4'\n"));
}

TEST_F(SimulateCli, RunsFromAnyFolder) {
    const fs::path file = fs::absolute(folder_ / "small.toml");
    fs::create_directories(folder_ / "elsewhere");
    RunOptions there = here();
    there.folder = folder_ / "elsewhere";
    const Outcome outcome =
        rudder({"simulate", file.string(), "--out", "run", "--quiet", "--threads", "2"}, there);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_TRUE(fs::exists(folder_ / "elsewhere/run/summary.json"));
    ok({"simulate", "small.toml", "--out", "run", "--quiet"});
    EXPECT_EQ(files_of(folder_ / "run"), files_of(folder_ / "elsewhere/run"));
}

TEST_F(SimulateCli, AnAgentsDecisionsAreScored) {
    ok({"simulate", "small.toml", "--out", "run", "--set", "train.policy=scored", "--set",
        "train.agent=every:2", "--quiet"});
    EXPECT_TRUE(fs::exists(folder_ / "run/decisions.jsonl"));
    const Json scores = ok_json({"agent", "score", "run"});
    EXPECT_GT(scores[0].at("decisions").get<std::uint64_t>(), 0U);
}

TEST_F(SimulateCli, FoldersAreTheSameByteForByteOnAnyThreads) {
    for (const char* agent : {"never", "bandit"}) {
        const std::string name(agent);
        ok({"simulate", "small.toml", "--out", name + "-one", "--threads", "1", "--set",
            "train.agent=" + name, "--quiet"});
        ok({"simulate", "small.toml", "--out", name + "-three", "--threads", "3", "--set",
            "train.agent=" + name, "--quiet"});
        EXPECT_EQ(files_of(folder_ / (name + "-one")), files_of(folder_ / (name + "-three")));
    }
}

TEST_F(SimulateCli, ASweepGivesATableAndADrawing) {
    write("sweep.toml", scenario() +
                            "[sweep]\n\"train.policy\" = ['none', 'window:4']\n"
                            "\"network.rate\" = ['100mbit', '10gbit']\n");
    const std::string text = ok({"simulate", "sweep.toml", "--out", "all", "--threads", "2"});
    EXPECT_THAT(text, HasSubstr("100mbit"));
    const std::string csv = bytes_of(folder_ / "all/sweep.csv");
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 5);
    EXPECT_THAT(csv, testing::StartsWith("train.policy,network.rate,ranks,hosts,steps,step_ms,"));
    const std::string svg = bytes_of(folder_ / "all/sweep.svg");
    EXPECT_THAT(svg, testing::StartsWith("<svg "));
    EXPECT_THAT(svg, HasSubstr("policy window:4, rate 10gbit"));
    ok({"report", "all", "--out", "all.html"});
    ok({"simulate", "sweep.toml", "--out", "again", "--threads", "1"});
    EXPECT_EQ(files_of(folder_ / "all"), files_of(folder_ / "again"));
    const Json json = ok_json({"simulate", "sweep.toml", "--out", "json"});
    ASSERT_EQ(json.size(), 4U);
    // A faster wire is no slower, whatever the policy.
    EXPECT_LE(json[1].at("step_ms").get<double>(), json[0].at("step_ms").get<double>());
    EXPECT_EQ(json[1].at("rows_per_step"), json[0].at("rows_per_step"));
    EXPECT_LT(json[2].at("rows_per_step").get<double>(), json[0].at("rows_per_step").get<double>());
}

TEST_F(SimulateCli, AGraphOfOnesOwnIsDividedBesideTheOutput) {
    ok({"generate", "sbm", "graph", "--vertices", "400", "--quiet"});
    ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg", "--quiet"});
    const Words rest{"--set", "ranks=2"};
    for (const char* source : {"graph", "parts"}) {
        Words words{"simulate", "small.toml",
                    "--out",    std::string("run-") + source,
                    "--set",    "graph.source=" + std::string(source)};
        words.insert(words.end(), rest.begin(), rest.end());
        ok(words);
        EXPECT_EQ(read_json(folder_ / ("run-" + std::string(source)) / "summary.json").at("parts"),
                  std::string(source) == "parts" ? 4 : 2);
    }
}

TEST_F(SimulateCli, RefusesByTheScenariosPlace) {
    write("many.toml", "ranks = 1000\n[graph]\nsource = 'like:arxiv'\nscale = 0.001\n");
    refuse({"simulate", "many.toml", "--out", "run"}, 3,
           {"many.toml, line 1", "1000 ranks for 169 vertices"});
    write("hours.toml", scenario() +
                            "[sweep]\n\"train.seed\" = [1, 2, 3]\n"
                            "\"train.epochs\" = [100000000]\n");
    const Outcome hours = rudder({"simulate", "hours.toml", "--out", "run"}, here());
    EXPECT_EQ(hours.code, 3);
    EXPECT_THAT(hours.err, HasSubstr("hours.toml, line 15"));
    EXPECT_THAT(hours.err, testing::ContainsRegex("would take about [0-9]+ hours"));
    EXPECT_THAT(hours.err, HasSubstr("--force"));
    EXPECT_FALSE(fs::exists(folder_ / "run"));
    refuse({"simulate", "small.toml"}, 2, {"--out"});
    ok({"simulate", "small.toml", "--out", "run"});
    refuse({"simulate", "small.toml", "--out", "run"}, 2, {"exists already"});
    ok({"simulate", "small.toml", "--out", "run", "--force"});
}

/// A cluster of 64 ranks, a step of each kind of cost.
TEST_F(SimulateCli, SixtyFourRanks) {
    const Json run = ok_json({"simulate", "small.toml", "--out", "run", "--set", "ranks=64",
                              "--set", "ranks-per-host=4", "--set", "graph.scale=0.05", "--set",
                              "train.batch=8", "--set", "graph.method=ldg", "--set", "steps=20"});
    EXPECT_EQ(run[0].at("ranks"), 64);
    EXPECT_EQ(run[0].at("hosts"), 16);
    EXPECT_EQ(run[0].at("steps"), 20);
    EXPECT_GT(run[0].at("hit_rate").get<double>(), 0);
}

class ScenarioFiles : public SimulateCli, public testing::WithParamInterface<std::string> {
protected:
    /// Some thousands of vertices of the graph that a scenario names.
    static std::string tiny_scale(const std::string& scenario) {
        const std::map<std::string, std::string> scales{
            {"like:arxiv", "0.02"},    {"like:reddit", "0.02"},       {"like:yelp", "0.005"},
            {"like:orkut", "0.001"},   {"like:friendster", "0.0001"}, {"like:papers100M", "0.0003"},
            {"like:products", "0.002"}};
        for (const auto& [name, scale] : scales) {
            if (scenario.find("\"" + name + "\"") != std::string::npos) return scale;
        }
        ADD_FAILURE() << "no stand-in is named";
        return "1";
    }
};

/// Each as it is, and its published sweep over policies, on a graph that is tiny.
TEST_P(ScenarioFiles, Run) {
    const std::string file = (fs::path(RUDDER_SOURCE_DIR) / "scenarios" / GetParam()).string();
    const Words tiny{"--set", "graph.scale=" + tiny_scale(bytes_of(file)),
                     "--set", "graph.method=ldg",
                     "--set", "ranks=4",
                     "--set", "ranks-per-host=2",
                     "--set", "train.batch=4",
                     "--set", "train.buffer=0.25",
                     "--set", "steps=3"};
    Words words{"simulate", file, "--out", "run"};
    words.insert(words.end(), tiny.begin(), tiny.end());
    ok(words);
    EXPECT_EQ(read_json(folder_ / "run/summary.json").at("ranks"), 4);
    // Agents say it where they take a change back.
    Words full{"simulate", file, "--full", "--out", "all", "--quiet"};
    full.insert(full.end(), tiny.begin(), tiny.end());
    ok(full);
    EXPECT_TRUE(fs::exists(folder_ / "all/sweep.csv"));
}

std::vector<std::string> scenario_files() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(fs::path(RUDDER_SOURCE_DIR) / "scenarios"))
        names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
}

INSTANTIATE_TEST_SUITE_P(All, ScenarioFiles, testing::ValuesIn(scenario_files()),
                         [](const auto& each) {
                             std::string name = each.param;
                             std::ranges::replace_if(
                                 name, [](char c) { return std::isalnum(c) == 0; }, '_');
                             return name;
                         });

}  // namespace

}  // namespace rudder::test
