// The verb beside 'rudder train --ranks 4' of the same configuration, each as a user runs it.
#include <filesystem>
#include <map>

#include "cli/cli_support.hpp"

namespace rudder::test {

namespace {

/// An option of both, and its value.
using Given = std::vector<std::pair<std::string, std::string>>;

class BesideTrain : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "like:arxiv", "graph", "--scale", "0.005", "--quiet"});
        ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg", "--quiet"});
    }

    /// Both run folders of four ranks with the same options.
    void run_both(const std::string& ranks_per_host, const Given& given) {
        Words train{"train",        "parts",  "--ranks",    "4",          "--ranks-per-host",
                    ranks_per_host, "--link", "50us,1gbit", "--threads",  "1",
                    "--out",        "real",   "--quiet",    "--topology", "replicated",
                    "--eval-every", "0"};
        Words simulate{"simulate", "four.toml", "--out", "made", "--quiet"};
        for (const auto& [option, value] : given) {
            train.push_back("--" + option);
            train.push_back(value);
            simulate.emplace_back("--set");
            simulate.push_back("train." + option + "=" + value);
        }
        write("four.toml", "ranks = 4\nranks-per-host = " + ranks_per_host +
                               "\n[graph]\nsource = 'parts'\n"
                               "[network]\nlatency = '50us'\nrate = '1gbit'\n");
        const Outcome trained = rudder(train, here());
        ASSERT_EQ(trained.code, 0) << trained.err;
        ok(simulate);
    }

    /// What each line of a run's metrics says of rows and of who sent them, by step and rank.
    std::map<std::pair<int, int>, std::string> lines_of(const std::string& run) {
        std::map<std::pair<int, int>, std::string> lines;
        std::ifstream in(folder_ / run / "metrics.jsonl");
        for (std::string line; std::getline(in, line);) {
            const Json step = Json::parse(line);
            Json kept{{"rows", step.at("rows")},
                      {"edges", step.at("edges")},
                      {"epoch", step.at("epoch")},
                      {"by_owner", step.at("bytes_by_owner")}};
            if (step.contains("knobs")) kept["knobs"] = step.at("knobs");
            lines[{step.at("step"), step.at("rank")}] = kept.dump();
        }
        return lines;
    }

    void expect_same() {
        const Json real = read_json(folder_ / "real/summary.json");
        const Json made = read_json(folder_ / "made/summary.json");
        for (const char* kind : {"features", "requests", "topology", "gradients"})
            EXPECT_EQ(made.at("bytes").at(kind), real.at("bytes").at(kind)) << kind;
        for (const auto& [name, count] : real.at("rows").items()) {
            if (name == "floor") continue;  // train finds it with a trace alone
            EXPECT_EQ(made.at("rows").at(name), count) << name;
        }
        for (const char* key :
             {"steps", "steps_per_epoch", "edges", "row_bytes", "buffer_rows", "policy", "ranks",
              "hosts", "parts", "model", "epochs", "seed", "link", "topology", "precision",
              "buffer_scope", "steps_ahead", "schema", "sparse"})
            EXPECT_EQ(made.at(key), real.at(key)) << key;
        EXPECT_EQ(made.at("memory").at("buffer"), real.at("memory").at("buffer"));
        const auto lines = lines_of("real");
        EXPECT_EQ(lines.size(), 4 * real.at("steps").get<std::size_t>());
        EXPECT_EQ(lines_of("made"), lines);
        EXPECT_GT(real.at("rows").at("demand").get<std::uint64_t>(), 0U);
    }
};

TEST_F(BesideTrain, AWindowOfOwnBuffers) {
    run_both("1", {{"policy", "window:4"}, {"batch", "16"}, {"epochs", "2"}, {"agent", "never"}});
    expect_same();
}

TEST_F(BesideTrain, ScoresOfBuffersThatAHostShares) {
    run_both("2", {{"policy", "scored-faithful,every:3"},
                   {"batch", "16"},
                   {"epochs", "2"},
                   {"agent", "never"},
                   {"buffer", "0.4"},
                   {"sampler", "plain"},
                   {"fanout", "3,5"},
                   {"precision", "int8"}});
    expect_same();
    const Json made = read_json(folder_ / "made/summary.json");
    EXPECT_GT(made.at("rows").at("replacement").get<std::uint64_t>(), 0U);
}

}  // namespace

}  // namespace rudder::test
