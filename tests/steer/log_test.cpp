// decisions.jsonl: written, read, cut and damaged.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "steer/log/decision_log.hpp"

#include "hand_made.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

std::vector<steer::DecisionRecord> some_records() {
    std::vector<steer::DecisionRecord> records;
    records.push_back({.step = 3,
                       .rank = 1,
                       .agent = "every:4",
                       .observation = observed(3),
                       .action = steer::Action::replace(steer::Reason::rule, 0.5),
                       .forecast = steer::Forecast{1, -1},
                       .effective_step = 4,
                       .note = "said\n\"so\" \x1b[31m",
                       .latency = 0.1,
                       .outcome = steer::Outcome{16, 10.5, 12.25, 0.1 + 0.2, 1e-9},
                       .alternative = steer::Action::keep(),
                       .run = "r"});
    records.push_back(
        {.step = 4, .agent = "llm", .status = steer::DecisionStatus::late, .run = "r"});
    // An agent may say anything; the log keeps it.
    records.push_back(
        {.step = 5,
         .agent = "mad",
         .action = steer::Action::set({{steer::KnobId::window, -1e30}}, steer::Reason::trying),
         .effective_step = 6,
         .status = steer::DecisionStatus::invalid,
         .problem = "-1e30 is no value",
         .run = "r"});
    records.push_back({.step = 6,
                       .agent = "mad",
                       .action = steer::Action::replace(steer::Reason::none, std::nan("")),
                       .status = steer::DecisionStatus::refused,
                       .run = "r"});
    records.push_back({.step = 7,
                       .agent = "bandit",
                       .action = steer::Action::set({{steer::KnobId::policy, "window:8"}},
                                                    steer::Reason::shadow_better),
                       .effective_step = 8,
                       .status = steer::DecisionStatus::undone,
                       .alternative = steer::Action::keep(),
                       .run = "r"});
    return records;
}

std::string text_of_log(const std::vector<steer::DecisionRecord>& records) {
    std::string text;
    for (const steer::DecisionRecord& record : records)
        text += to_json(record).dump() + "\n";
    return text;
}

TEST(DecisionLogs, HaveTheKeysOfTheDesign) {
    const Json line = to_json(some_records()[0]);
    std::vector<std::string> keys;
    for (const auto& [key, value] : line.items())
        keys.push_back(key);
    EXPECT_THAT(keys, testing::ElementsAre("step", "rank", "agent", "observation", "action",
                                           "effective_step", "reason", "latency", "status",
                                           "outcome", "alternatives", "forecast", "note", "run"));
    EXPECT_EQ(line["reason"], "rule");
    EXPECT_EQ(line["status"], "applied");
    EXPECT_EQ(line["outcome"]["correct"], true);
    EXPECT_EQ(line["alternatives"].dump(), R"([{"action":{"action":"keep"},"rows":12.25}])");
    const Json late = to_json(some_records()[1]);
    EXPECT_TRUE(late["observation"].is_null());
    EXPECT_TRUE(late["outcome"].is_null());
    EXPECT_TRUE(late["reason"].is_null());
    EXPECT_EQ(late["alternatives"].size(), 0U);
}

TEST(DecisionLogs, ComeBackAsTheyWereWritten) {
    const TempDir folder;
    const std::string text = text_of_log(some_records());
    write_text(folder.path() / "decisions.jsonl", text);
    for (const auto& path : {folder.path(), folder.path() / "decisions.jsonl"}) {
        const auto records = steer::read_decisions(path);
        ASSERT_EQ(records.size(), 5U);
        EXPECT_EQ(text_of_log(records), text);
        EXPECT_EQ(records[0].outcome->hit_rate, 0.1 + 0.2);
        EXPECT_TRUE(std::isnan(records[3].action.fraction));
    }
}

TEST(DecisionLogs, ALastLineThatWasCutIsLeftOut) {
    const TempDir folder;
    const auto file = folder.path() / "log";
    const std::string text = text_of_log(some_records());
    const std::string last = to_json(some_records()[4]).dump();
    for (std::size_t cut = 0; cut <= last.size() + 1; cut += 7) {
        write_text(file, text.substr(0, text.size() - cut));
        // Without its newline only, or with nothing of it, the line is whole or not there.
        EXPECT_EQ(steer::read_decisions(file).size(), cut <= 1 ? 5U : 4U) << cut;
    }
    write_text(file, "");
    EXPECT_TRUE(steer::read_decisions(file).empty());
}

TEST(DecisionLogs, OtherDamageIsBadInputWithItsLine) {
    const TempDir folder;
    const auto file = folder.path() / "log";
    const Json good = to_json(some_records()[0]);
    const auto refused = [&](const std::string& line, const char* word) {
        write_text(file, good.dump() + "\n" + line + "\n" + good.dump() + "\n");
        try {
            static_cast<void>(steer::read_decisions(file));
            ADD_FAILURE() << line;
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 3) << line;
            EXPECT_THAT(error.what(), HasSubstr("log, line 2")) << line;
            EXPECT_THAT(error.what(), HasSubstr(word)) << line;
        }
    };
    refused("", "JSON");
    refused("{}", "step");
    refused("[]", "object");
    const auto with = [&](const char* key, Json value) {
        Json bad = good;
        bad[key] = std::move(value);
        return bad.dump();
    };
    refused(with("status", "fine"), "fine");
    refused(with("step", -1), "step");
    refused(with("action", {{"action", "set"}, {"knobs", {{"window", 0}}}}), "window");
    refused(with("action", {{"action", "evict"}}), "evict");
    refused(with("alternatives", 4), "alternatives");
    refused(with("outcome", {{"steps", 3}}), "rows");
    refused(with("observation", {{"step", 3}}), "sequence");
    EXPECT_THROW(static_cast<void>(steer::read_decisions(folder.path() / "none")), Error);
}

}  // namespace
}  // namespace rudder::test
