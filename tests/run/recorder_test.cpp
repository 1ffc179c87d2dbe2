// What is kept of a run while it goes on: lines, the card, the summary, and what goes wrong.
#include <fstream>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "report/frames.hpp"
#include "report/sink.hpp"
#include "rudder/core/error.hpp"
#include "run/last_words.hpp"
#include "run/run_recorder.hpp"

#include "support/temp_dir.hpp"

namespace rudder::run {
namespace {

class Recorder : public testing::Test {
protected:
    [[nodiscard]] static Json facts() {
        return {{"schema", 1},  {"version", "0"},  {"ranks", 2},     {"data", "d"},
                {"model", "m"}, {"policy", "lru"}, {"agent", "rule"}};
    }
    /// Of a folder `run` that is made; without event files.
    [[nodiscard]] RunRecorder recorder(bool regression = false) const {
        return {RunFolder(place_ / "run", Existing::refuse, "x = 1\n"), facts(),
                SinkSettings{.tensorboard = false}, RunPosition{}, regression};
    }
    [[nodiscard]] std::vector<Json> lines(const std::string& name) const {
        std::vector<Json> all;
        std::ifstream in(place_ / "run" / name);
        for (std::string text; std::getline(in, text);)
            all.push_back(parse_json(text, name));
        return all;
    }
    [[nodiscard]] Json card() const { return read_json(place_ / "run" / "run.json"); }

    test::TempDir place_;
};

TEST_F(Recorder, WritesWhatItSees) {
    RunRecorder all = recorder();
    const auto steps = test::some_steps(0, 3, 2);
    all.step_done(steps.front(), 30);
    all.records(steps);
    all.records({});
    all.decisions({});
    all.epoch_done(test::some_epoch(0, 3), 4);
    const std::uint64_t bytes = all.metrics_bytes();
    EXPECT_EQ(bytes, std::filesystem::file_size(place_ / "run" / "metrics.jsonl"));
    const auto metrics = lines("metrics.jsonl");
    ASSERT_EQ(metrics.size(), 6U);
    for (std::size_t i = 0; i < metrics.size(); ++i) {
        EXPECT_EQ(metrics[i].at("step"), i / 2);
        EXPECT_EQ(metrics[i].at("rank"), i % 2);
    }
    EXPECT_TRUE(lines("decisions.jsonl").empty());
    all.decisions(std::vector<steer::DecisionRecord>(2));
    const Json sinks = all.close(0);
    EXPECT_EQ(sinks.at("names"), Json({"metrics.jsonl"}));
    EXPECT_EQ(sinks.at("lines"), 6);
    EXPECT_TRUE(sinks.at("cpu_share").is_null()) << "of no time at all";
    EXPECT_EQ(lines("decisions.jsonl").size(), 2U);
    ASSERT_EQ(lines("epochs.jsonl").size(), 1U);
    EXPECT_EQ(lines("epochs.jsonl")[0].at("accuracy").at("valid"), 0.25);
}

TEST_F(Recorder, GoesOnAtItsPosition) {
    std::uint64_t bytes = 0;
    {
        RunRecorder first = recorder();
        first.records(test::some_steps(0, 2, 2));
        bytes = first.metrics_bytes();
        first.records(test::some_steps(2, 5, 2));
        first.epoch_done(test::some_epoch(0, 2), 9);
        static_cast<void>(first.close(1));
        first.interrupt();
    }
    EXPECT_EQ(lines("metrics.jsonl").size(), 14U);
    const RunPosition start{.step = 2, .metrics_bytes = bytes, .epochs = {test::some_epoch(0, 2)}};
    RunRecorder second(RunFolder::reopen(place_ / "run", "x = 2\n", 2), facts(),
                       SinkSettings{.tensorboard = false}, start, true);
    EXPECT_EQ(lines("metrics.jsonl").size(), 4U) << "later steps come again";
    second.records(test::some_steps(2, 1, 2));
    EXPECT_GT(second.metrics_bytes(), bytes);
    EXPECT_EQ(lines("metrics.jsonl").back().at("step"), 2);
    ASSERT_EQ(lines("epochs.jsonl").size(), 1U);
    EXPECT_FALSE(lines("epochs.jsonl")[0].dump().find("0.25") != std::string::npos)
        << "a regression has no accuracy";
    EXPECT_EQ(card().at("resumed").at(0).at("state"), "interrupted");
}

TEST_F(Recorder, TheCardSaysHowItEnded) {
    RunRecorder all = recorder();
    EXPECT_EQ(card().at("state"), "running");
    const Json sinks = all.close(2);
    EXPECT_DOUBLE_EQ(sinks.at("cpu_share").get<double>(),
                     sinks.at("cpu_seconds").get<double>() / 2);
    all.finish(Json{{"steps", 12}});
    EXPECT_EQ(card().at("state"), "finished");
    EXPECT_EQ(read_json(place_ / "run" / "summary.json").at("steps"), 12);
    LastWords::speak(4, "too late");
    EXPECT_EQ(card().at("state"), "finished");
}

TEST_F(Recorder, AFailureIsNotedAndThrownOn) {
    RunRecorder all = recorder();
    const auto broken = [&]() -> int { throw std::runtime_error("the loss is NaN"); };
    EXPECT_THROW(recorded(&all, broken), std::runtime_error);
    EXPECT_EQ(card().at("state"), "failed");
    EXPECT_EQ(card().at("error"), "the loss is NaN");
    EXPECT_FALSE(std::filesystem::exists(place_ / "run" / "summary.json"));
    EXPECT_THROW(recorded(nullptr, broken), std::runtime_error);
    EXPECT_EQ(recorded(&all, [] { return 5; }), 5);
}

TEST_F(Recorder, ASignalIsAnInterruption) {
    RunRecorder all = recorder();
    all.fail(Error(ErrorKind::interrupted, "interrupted by SIGINT", "", "go on with --resume"));
    EXPECT_EQ(card().at("state"), "interrupted");
    EXPECT_THAT(card().at("error").get<std::string>(), testing::HasSubstr("SIGINT"));
}

TEST_F(Recorder, TheWatchdogsReasonIsOnTheCard) {
    {
        const RunRecorder all = recorder();
        LastWords::speak(4, "rank 1 died");
    }
    EXPECT_EQ(card().at("state"), "failed");
    EXPECT_EQ(card().at("error"), "rank 1 died");
}

TEST_F(Recorder, WithoutAFolderNothingIsWritten) {
    RunRecorder all(std::nullopt, facts(), SinkSettings{}, RunPosition{}, false);
    all.records(test::some_steps(0, 3, 2));
    all.epoch_done(test::some_epoch(0, 3), 1);
    EXPECT_EQ(all.metrics_bytes(), 0U);
    EXPECT_EQ(all.close(1).at("names"), Json::array());
    all.interrupt();
    all.finish(Json::object());
    EXPECT_TRUE(place_.empty());
    EXPECT_EQ(no_sinks().at("lines"), 0);
}

}  // namespace
}  // namespace rudder::run
