// Lines of metrics.jsonl and epochs.jsonl, and what becomes of them on a disk that fails.
#include <bit>
#include <cmath>
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "core/json.hpp"
#include "report/json_lines_sink.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"

#include "frames.hpp"
#include "sinks/json_text.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(JsonLines, AStepAsKnown) {
    train::StepRecord step = some_steps(0, 1, 2, "window:16,distance:2")[1];
    step.loss = 0.25;
    step.seconds.stall = 1e-7;
    std::string text;
    report::StepLines().append(text, step);
    EXPECT_EQ(text,
              "{\"step\":0,\"epoch\":0,\"rank\":1,\"loss\":0.25,\"seconds\":{\"step\":11.0,"
              "\"sample\":12.0,\"fetch\":13.0,\"stall\":1e-07,\"compute\":15.0,\"reduce\":16.0,"
              "\"wait_rows\":17.0,\"wait_gradients\":18.0,\"wait_ranks\":19.0,"
              "\"wait_agent\":20.0,\"rest\":21.0},"
              "\"rows\":{\"needed\":22,\"local\":23,\"hit\":24,\"demand\":25,\"replacement\":26,"
              "\"ahead\":27,\"wasted\":28,\"saved\":29},\"bytes\":{\"features\":30,\"requests\":31,"
              "\"topology\":32,\"gradients\":33,\"evaluation\":34,\"control\":35},"
              "\"bytes_by_owner\":[0,1],\"edges\":36,\"knobs\":{\"policy\":\"window:16,"
              "distance:2\",\"window\":16,\"capacity\":38,\"decay\":0.99,\"distance\":2,\"bulk\":"
              "39,\"sample_threads\":40,"
              "\"fetch_threads\":41,\"demand_first\":42,\"in_flight\":43,\"buckets\":44},"
              "\"learned\":45}\n");
}

TEST(JsonLines, KnobsOfPoliciesThatAreLongOrNotThere) {
    std::string text;
    report::StepLines lines;
    lines.append(text, some_steps(3, 1, 1, "")[0]);
    EXPECT_THAT(text, testing::HasSubstr(",\"knobs\":{},\"learned\":"));
    const std::string policy =
        "scored,every:1234567,fraction:0.12345678901234567,decay:0.12345678901234567";
    text.clear();
    lines.append(text, some_steps(3, 1, 1, policy)[0]);
    EXPECT_THAT(text,
                testing::HasSubstr("\"policy\":\"" + buffer::PolicySpec::parse(policy).text() +
                                   "\",\"window\":0,\"capacity\":3028,"));
}

TEST(JsonLines, NumbersAreThoseOfTheLibraryDigitForDigit) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 3}), 0);
    for (int i = 0; i < 200'000; ++i) {
        double value = 0;
        if (i % 2 == 0) {
            value = std::bit_cast<double>(draws.below(~std::uint64_t{0}));
        } else {
            value = static_cast<double>(draws.below(1'000'000'000)) * 1e-9;
        }
        std::string text;
        report::append_json(text, value);
        ASSERT_EQ(text, Json(value).dump());
    }
    std::string text;
    report::append_json(text, std::nan(""));
    EXPECT_EQ(text, "null");
}

TEST(JsonLines, AnEpoch) {
    train::EpochRecord epoch{.epoch = 2, .steps = 8, .loss = 0.5, .seconds = 1.5};
    epoch.scores.train = {3, 4, 0};
    EXPECT_EQ(report::epoch_line(epoch),
              "{\"epoch\":2,\"steps\":8,\"loss\":0.5,\"seconds\":1.5,\"evaluation_seconds\":0.0,"
              "\"accuracy\":{\"train\":0.75,\"valid\":null,\"test\":null}}\n");
}

TEST(JsonLinesSink, GoesOnWhereARunWasCut) {
    const TempDir folder;
    std::uint64_t bytes = 0;
    std::vector<steer::DecisionRecord> made(3);
    made[1].step = 7;
    made[2].rank = 1;
    const train::EpochRecord first{.epoch = 0, .steps = 5};
    {
        report::JsonLinesSink sink(folder.path());
        sink.steps(some_steps(0, 5, 2));
        bytes = *sink.metrics_bytes();
        sink.epoch(first);
        sink.steps(some_steps(5, 5, 2));
        sink.epoch({.epoch = 1, .steps = 5});
        sink.decisions(std::span(made).first(1));
        EXPECT_EQ(*sink.metrics_bytes(), fs::file_size(folder.path() / "metrics.jsonl"));
    }
    const std::string whole = bytes_of(folder.path() / "metrics.jsonl");
    report::JsonLinesSink sink(folder.path(), bytes, std::span(&first, 1));
    EXPECT_EQ(bytes_of(folder.path() / "metrics.jsonl"), whole.substr(0, bytes));
    EXPECT_EQ(bytes_of(folder.path() / "epochs.jsonl"), report::epoch_line(first));
    sink.steps(some_steps(5, 5, 2));
    sink.decisions(std::span(made).last(2));
    sink.close();
    EXPECT_EQ(bytes_of(folder.path() / "metrics.jsonl"), whole);
    std::string lines;
    for (const steer::DecisionRecord& one : made)
        lines += steer::log_line(one) + "\n";
    EXPECT_EQ(bytes_of(folder.path() / "decisions.jsonl"), lines);
}

TEST(JsonLinesSink, ADiskThatFillsLeavesWholeLines) {
    const TempDir folder;
    const auto before = std::signal(SIGXFSZ, SIG_IGN);
    rlimit old{};
    ::getrlimit(RLIMIT_FSIZE, &old);
    {
        report::JsonLinesSink sink(folder.path());
        sink.steps(some_steps(0, 2, 2));
        const std::uint64_t good = *sink.metrics_bytes();
        const rlimit small{.rlim_cur = good + 100, .rlim_max = old.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
        EXPECT_THROW(sink.steps(some_steps(2, 2, 2)), Error);
        ::setrlimit(RLIMIT_FSIZE, &old);
        EXPECT_EQ(*sink.metrics_bytes(), good);
        EXPECT_EQ(fs::file_size(folder.path() / "metrics.jsonl"), good);
    }
    static_cast<void>(std::signal(SIGXFSZ, before));
    EXPECT_THROW(report::JsonLinesSink(folder.path() / "nowhere"), Error);
}

}  // namespace
}  // namespace rudder::test
