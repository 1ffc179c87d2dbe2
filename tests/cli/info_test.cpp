// rudder info of what runs leave: traces, checkpoints, run folders.
#include "cli_support.hpp"

namespace rudder::test {
namespace {

class Info : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "data", "--vertices", "400", "--classes", "4"});
        ok({"partition", "data", "parts", "--parts", "2", "--method", "ldg"});
        ok({"train", "parts", "--out", "run", "--epochs", "2", "--batch", "50", "--hidden", "8",
            "--trace", "--quiet"});
    }
    [[nodiscard]] std::filesystem::path checkpoint() const {
        for (const auto& entry : std::filesystem::directory_iterator(path("run/checkpoints"))) {
            if (entry.is_directory()) return entry.path();
        }
        return {};
    }
    [[nodiscard]] std::filesystem::path path(const std::string& name) const {
        return folder_ / name;
    }
};

TEST_F(Info, OfARun) {
    const Json run = ok_json({"info", "run", "--check"});
    EXPECT_EQ(run.at("kind"), "run");
    EXPECT_EQ(run.at("state"), "finished");
    EXPECT_EQ(run.at("epochs"), 2);
    EXPECT_EQ(run.at("metrics_lines"), run.at("steps"));
    EXPECT_FALSE(run.at("checkpoints").empty());
    EXPECT_EQ(run.at("trace").at("hosts"), 1);
    EXPECT_TRUE(run.at("warnings").empty()) << run.dump();
    EXPECT_EQ(run.at("checked"), true);
    const std::string text = ok({"info", "run"});
    for (const char* word : {"run", "finished", "step-", "accuracy"})
        EXPECT_THAT(text, HasSubstr(word));
}

TEST_F(Info, OfARunThatHasNotFinished) {
    std::filesystem::remove(path("run/summary.json"));
    write("run/metrics.jsonl", "{\"step\": 0}\n{\"ste");
    const Json run = ok_json({"info", "run"});
    EXPECT_EQ(run.at("state"), "unfinished");
    EXPECT_EQ(run.at("metrics_lines"), 1);
    EXPECT_EQ(run.at("warnings").size(), 2U);
    EXPECT_THAT(ok({"info", "run"}), HasSubstr("middle of a line"));
}

TEST_F(Info, NumbersOfALongRunAreGrouped) {
    std::filesystem::remove(path("run/summary.json"));
    Json card = read_json(path("run/run.json"));
    card["state"] = "failed";
    card["epochs"] = 1000000;
    card["steps_per_epoch"] = 4000;
    write("run/run.json", card.dump());
    EXPECT_THAT(ok({"info", "run"}), HasSubstr("of 4,000,000,000 (0 %), epoch 2 of 1,000,000\n"));
}

TEST_F(Info, OfACheckpoint) {
    const Json c = ok_json({"info", checkpoint().string()});
    EXPECT_EQ(c.at("kind"), "checkpoint");
    EXPECT_EQ(c.at("model"), "sage");
    EXPECT_GT(c.at("step"), 0);
    EXPECT_GT(c.at("parameters"), 0);
    EXPECT_THAT(ok({"info", checkpoint().string()}), HasSubstr("checksums hold"));
    // A byte of its weights changes.
    const auto weights = checkpoint() / "weights.safetensors";
    std::string bytes = bytes_of(weights);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(weights, std::ios::binary) << bytes;
    refuse({"info", checkpoint().string()}, 3, {"damaged", "weights.safetensors"});
    ok({"info", "run"});
    refuse({"info", "run", "--check"}, 3, {"damaged"});
}

TEST_F(Info, OfATrace) {
    const Json trace = ok_json({"info", "run/trace"});
    EXPECT_EQ(trace.at("kind"), "trace");
    EXPECT_EQ(trace.at("hosts"), 1);
    EXPECT_EQ(trace.at("vertices"), 400);
    EXPECT_EQ(trace.at("steps"), ok_json({"info", "run"}).at("steps"));
    EXPECT_THAT(ok({"info", "run/trace"}), HasSubstr("checksums"));
    for (const auto& entry : std::filesystem::directory_iterator(path("run/trace/host-00000"))) {
        if (entry.path().filename() == "manifest.json") continue;
        std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
    }
    refuse({"info", "run/trace"}, 3, {"host-00000"});
}

TEST_F(Info, OfAGoldenTraceAndOfSeveralThings) {
    const std::string golden = std::string(RUDDER_SOURCE_DIR) + "/tests/data/golden/debian_500.npz";
    const Json trace = ok_json({"info", golden});
    EXPECT_EQ(trace.at("kind"), "trace");
    EXPECT_GT(trace.at("needed").at(0), 0);
    const Json all = ok_json({"info", "data", "parts", "run", golden});
    EXPECT_EQ(all.size(), 4U);
    EXPECT_EQ(all[2].at("kind"), "run");
    const std::string table = ok({"info", "data", "parts", "run", golden});
    for (const char* word : {"dataset", "partition", "run", "trace"})
        EXPECT_THAT(table, HasSubstr(word));
}

TEST_F(Info, OfNothingKnownIsRefused) {
    std::filesystem::create_directory(path("empty"));
    refuse({"info", "empty"}, 3, {"empty"});
}

}  // namespace
}  // namespace rudder::test
