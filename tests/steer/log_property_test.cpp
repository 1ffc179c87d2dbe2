// Decision logs of any records: there and back, cut at every byte, damaged anywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "steer/log/decision_log.hpp"

#include "hand_made.hpp"
#include "random_actions.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

steer::DecisionRecord random_record(Draws& draws) {
    const auto number = [&] { return static_cast<double>(draws.below(1U << 20U)) / 1024; };
    steer::DecisionRecord r;
    r.step = draws.below(1000);
    r.rank = static_cast<std::uint32_t>(draws.below(8));
    r.agent = draws.below(2) == 0 ? "bandit" : "every:4";
    if (draws.below(4) != 0) r.observation = observed(r.step, draws.below(101));
    do {
        r.action = random_action(draws);
    } while (r.action.kind == steer::ActionKind::set && r.action.knobs.empty());
    if (draws.below(2) == 0) {
        r.forecast = steer::Forecast{static_cast<int>(draws.below(3)) - 1,
                                     static_cast<int>(draws.below(3)) - 1};
    }
    r.effective_step = r.step + draws.below(5);
    r.note = std::string(draws.below(20), '"') + (draws.below(2) == 0 ? "\n\t\x01" : "");
    r.latency = number();
    r.status = static_cast<steer::DecisionStatus>(draws.below(steer::decision_statuses));
    if (draws.below(2) == 0) r.problem = "knob 'window': \xc3\xbc";
    if (draws.below(2) == 0) {
        r.outcome = steer::Outcome{draws.below(64), number(), number(), number() / 1024, number()};
        r.alternative = random_action(draws);
    }
    r.run = std::to_string(draws.below(10));
    return r;
}

std::vector<steer::DecisionRecord> random_records(std::uint64_t seed, std::size_t count) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
    std::vector<steer::DecisionRecord> records;
    for (std::size_t i = 0; i < count; ++i)
        records.push_back(random_record(draws));
    return records;
}

TEST(DecisionLogProperties, EveryRecordComesBackWithAllItSays) {
    for (const steer::DecisionRecord& sent : random_records(1, 200)) {
        const std::string line = steer::log_line(sent);
        EXPECT_EQ(line.find('\n'), std::string::npos);
        const auto back = steer::parse_decision(parse_json(line, "here"), "here");
        EXPECT_EQ(to_json(back), to_json(sent));
        EXPECT_EQ(back.action, sent.action);
        EXPECT_EQ(back.alternative, sent.alternative);
        EXPECT_EQ(back.outcome.has_value(), sent.outcome.has_value());
        EXPECT_EQ(back.status, sent.status);
        EXPECT_EQ(back.note, sent.note);
        EXPECT_EQ(back.problem, sent.problem);
        EXPECT_EQ(back.latency, sent.latency);
        EXPECT_EQ(back.agent, sent.agent);
        EXPECT_EQ(back.forecast.has_value(), sent.forecast.has_value());
        EXPECT_EQ(steer::log_line(back), line);
    }
}

TEST(DecisionLogProperties, CutAnywhereTheWholeLinesAreLeft) {
    const TempDir folder;
    const auto file = folder / "decisions.jsonl";
    std::string text;
    std::vector<std::size_t> ends;  // of lines, without their new line
    for (const steer::DecisionRecord& record : random_records(2, 4)) {
        text += steer::log_line(record);
        ends.push_back(text.size());
        text += "\n";
    }
    std::vector<std::size_t> cuts;
    for (std::size_t size = 0; size <= text.size(); size += 23)
        cuts.push_back(size);
    for (const std::size_t end : ends)
        cuts.insert(cuts.end(), {end - 1, end, end + 1});
    for (const std::size_t size : cuts) {
        write_text(file, text.substr(0, size));
        const auto whole =
            std::ranges::count_if(ends, [&](std::size_t end) { return end <= size; });
        EXPECT_EQ(steer::read_decisions(file).size(), static_cast<std::size_t>(whole)) << size;
    }
}

TEST(DecisionLogProperties, DamageIsToldWithItsLineOrIsStillARecord) {
    const TempDir folder;
    const auto file = folder / "decisions.jsonl";
    const auto records = random_records(3, 5);
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 4}), 0);
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
        const std::size_t hurt = draws.below(records.size());
        std::string text;
        for (std::size_t k = 0; k < records.size(); ++k) {
            std::string line = steer::log_line(records[k]);
            if (k == hurt)
                line[draws.below(line.size())] = static_cast<char>(' ' + draws.below(90));
            text += line + "\n";
        }
        write_text(file, text);
        try {
            EXPECT_EQ(steer::read_decisions(file).size(), records.size());
        } catch (const Error& error) {
            ++refused;
            EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
            EXPECT_THAT(error.where(), HasSubstr("line " + std::to_string(hurt + 1)));
            EXPECT_THAT(error.what(), testing::Not(HasSubstr("json.exception")));
        }
    }
    EXPECT_GT(refused, 50);
    EXPECT_LT(refused, 200);
}

TEST(DecisionLogProperties, EveryKeyThatIsMissingIsNamed) {
    steer::DecisionRecord record = random_records(5, 1).front();
    record.observation = observed(3);
    record.outcome = steer::Outcome{16, 1, 2, 0.5, 0};
    record.alternative = steer::Action::keep();
    const Json good = to_json(record);
    for (const char* key : {"step", "rank", "agent", "observation", "action", "effective_step",
                            "latency", "status", "outcome", "alternatives", "run"}) {
        Json bad = good;
        bad.erase(key);
        try {
            static_cast<void>(steer::parse_decision(bad, "here"));
            ADD_FAILURE() << key;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            EXPECT_THAT(error.problem(), HasSubstr(key));
        }
        bad[key] = Json::array({1});
        if (std::string_view(key) == "alternatives") continue;
        EXPECT_THROW(static_cast<void>(steer::parse_decision(bad, "here")), Error) << key;
    }
}

}  // namespace
}  // namespace rudder::test
