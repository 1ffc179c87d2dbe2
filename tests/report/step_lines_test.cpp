// A line of metrics.jsonl is what a tree of JSON values would print, byte for byte.
#include <gtest/gtest.h>

#include "core/fields_json.hpp"
#include "report/json_lines_sink.hpp"
#include "rudder/core/random.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder::test {
namespace {

/// All knobs the policy has, and those beside it.
Json knobs_json(const train::StepRecord& record) {
    if (!record.buffered) return Json::object();
    Json knobs{{"policy", record.knobs.policy.text()},
               {"window", record.window()},
               {"capacity", record.knobs.capacity}};
    const Json all = steer::to_json(record.knobs);
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
            {"seconds", fields_json(record.seconds)},
            {"rows", fields_json(record.rows)},
            {"bytes", fields_json(record.bytes)},
            {"bytes_by_owner", record.bytes_by_owner},
            {"edges", record.edges},
            {"knobs", knobs_json(record)},
            {"learned", record.learned}};
}

train::StepRecord some_record(Draws& draws) {
    const std::vector<std::string> policies{"",
                                            "none",
                                            "window:16",
                                            "window:16,decay:0.875,distance:5",
                                            "scored-faithful,every:4",
                                            "static-degree",
                                            "periodic,delta:8",
                                            "scored,fraction:0.3"};
    const auto count = [&] { return draws.below(std::uint64_t{1} << draws.below(50)); };
    const auto seconds = [&] { return static_cast<double>(count()) * 1e-9; };
    train::StepRecord r;
    r.step = count();
    r.epoch = static_cast<std::uint32_t>(draws.below(1000));
    r.rank = static_cast<std::uint32_t>(draws.below(64));
    r.loss = static_cast<float>(seconds());
    for_each_field<Seconds>([&]<class M>(const Field<Seconds, M>& f) {
        r.seconds.*f.member = static_cast<M>(seconds());
    });
    for_each_field<Rows>([&](const auto& f) { r.rows.*f.member = count(); });
    for_each_field<comm::Bytes>([&](const auto& f) { r.bytes.*f.member = count(); });
    r.bytes_by_owner = {count(), count(), count()};
    r.edges = count();
    const std::string& policy = policies[draws.below(policies.size())];
    r.buffered = !policy.empty();
    if (r.buffered) r.knobs.policy = buffer::PolicySpec::parse(policy);
    r.knobs.capacity = count();
    r.knobs.bulk = draws.below(4);
    r.knobs.sample_threads = 1 + draws.below(4);
    r.knobs.fetch_threads = 1 + draws.below(4);
    r.knobs.demand_first = draws.below(2);
    r.knobs.in_flight = 1 + draws.below(4);
    r.knobs.buckets = draws.below(4);
    r.learned = count();
    return r;
}

TEST(StepLines, AreThoseOfATree) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 8}), 0);
    report::StepLines lines;
    for (int i = 0; i < 2000; ++i) {
        const train::StepRecord record = some_record(draws);
        std::string line;
        lines.append(line, record);
        ASSERT_EQ(line, tree(record).dump() + "\n");
    }
}

TEST(EpochRecord, WithoutAnswersThereIsNoAccuracy) {
    train::EpochRecord epoch;
    epoch.scores.train = {3, 4, 0};
    epoch.scores.valid = {1, 2, 0};
    EXPECT_EQ(epoch.train(), 0.75);
    EXPECT_EQ(epoch.valid(), std::nullopt);
    epoch.scores.evaluated = true;
    EXPECT_EQ(epoch.valid(), 0.5);
    EXPECT_EQ(epoch.test(), std::nullopt);
    epoch.regression = true;
    EXPECT_EQ(epoch.train(), std::nullopt);
}

}  // namespace
}  // namespace rudder::test
