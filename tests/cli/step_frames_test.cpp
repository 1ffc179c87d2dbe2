// A line of metrics.jsonl is what a tree of JSON values would print, byte for byte.
#include "run/step_frames.hpp"

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "report/json_lines_sink.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder::cli {
namespace {

/// All knobs the policy has, and those beside it.
Json knobs_json(const train::StepRecord& record) {
    if (record.policy.empty()) return Json::object();
    Json knobs{{"policy", record.policy}, {"window", record.window}, {"capacity", record.capacity}};
    steer::Setting setting;
    try {
        setting.policy = buffer::PolicySpec::parse(record.policy);
    } catch (const Error&) {
        return knobs;
    }
    setting.capacity = record.capacity;
    setting.bulk = record.bulk;
    setting.sample_threads = record.sample_threads;
    setting.fetch_threads = record.fetch_threads;
    const Json all = to_json(setting);
    for (const auto& [name, value] : all.items()) {
        if (!knobs.contains(name)) knobs[name] = value;
    }
    return knobs;
}

Json tree(const train::StepRecord& record) {
    return {{"step", record.step},
            {"epoch", record.epoch},
            {"rank", record.rank},
            {"loss", record.loss},
            {"seconds", to_json(record.seconds)},
            {"rows", train::to_json(record.rows)},
            {"bytes", train::bytes_json(record.bytes)},
            {"bytes_by_owner", record.bytes_by_owner},
            {"edges", record.edges},
            {"knobs", knobs_json(record)}};
}

train::StepRecord some_record(Draws& draws) {
    const std::vector<std::string> policies{"",
                                            "none",
                                            "window:16",
                                            "window:16,decay:0.875,distance:5",
                                            "scored-faithful,every:4",
                                            "static-degree",
                                            "periodic:8",
                                            "scored,fraction:0.3",
                                            "window:16,cut in the mid"};
    const auto count = [&] { return draws.below(std::uint64_t{1} << draws.below(50)); };
    const auto seconds = [&] { return static_cast<double>(count()) * 1e-9; };
    train::StepRecord r;
    r.step = count();
    r.epoch = static_cast<std::uint32_t>(draws.below(1000));
    r.rank = static_cast<std::uint32_t>(draws.below(64));
    r.loss = static_cast<float>(seconds());
    r.seconds = {seconds(), seconds(), seconds(), seconds(), seconds(), seconds()};
    r.rows = {count(), count(), count(), count(), count(), count(), count(), count()};
    for (auto& bytes : r.bytes)
        bytes = count();
    r.bytes_by_owner = {count(), count(), count()};
    r.edges = count();
    r.policy = policies[draws.below(policies.size())];
    r.window = count();
    r.capacity = count();
    r.bulk = draws.below(4);
    r.sample_threads = 1 + draws.below(4);
    r.fetch_threads = 1 + draws.below(4);
    return r;
}

TEST(StepFrames, LinesAreThoseOfATree) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 8}), 0);
    run::StepFrames frames;
    for (int batch = 0; batch < 20; ++batch) {
        std::vector<train::StepRecord> records;
        for (int i = 0; i < 100; ++i)
            records.push_back(some_record(draws));
        const report::StepBatch made = frames.frames(records);
        ASSERT_EQ(made.steps.size(), records.size());
        for (std::size_t i = 0; i < records.size(); ++i) {
            std::string line;
            report::append_step_line(line, made, i);
            ASSERT_EQ(line, tree(records[i]).dump() + "\n");
        }
    }
    EXPECT_TRUE(frames.frames({}).steps.empty());
}

TEST(StepFrames, EpochsWithoutAnswersHaveNoAccuracy) {
    train::EpochRecord epoch;
    epoch.scores.train = {3, 4, 0};
    epoch.scores.valid = {1, 2, 0};
    EXPECT_EQ(run::epoch_frame(epoch, false).train, 0.75);
    EXPECT_EQ(run::epoch_frame(epoch, false).valid, std::nullopt);
    epoch.scores.evaluated = true;
    EXPECT_EQ(run::epoch_frame(epoch, false).valid, 0.5);
    EXPECT_EQ(run::epoch_frame(epoch, false).test, std::nullopt);
    EXPECT_EQ(run::epoch_frame(epoch, true).train, std::nullopt);
}

}  // namespace
}  // namespace rudder::cli
