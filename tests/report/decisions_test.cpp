// decisions.jsonl and epochs.jsonl: against slow readers, and with damaged lines.
#include <random>

#include <gmock/gmock.h>

#include "report/run/read_parts.hpp"

#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using report::DecisionData;
using report::Judgement;
using test::fake_decision;
using testing::HasSubstr;

DecisionData decisions_in(const std::string& text) {
    const test::TempDir folder;
    test::write_file(folder / "decisions.jsonl", text);
    return report::read_run_decisions(folder / "decisions.jsonl");
}

/// The only decision of a file, in words.
report::DecisionText words_of(const Json& line) {
    const DecisionData data = decisions_in(line.dump() + "\n");
    EXPECT_EQ(data.notable.size(), 1U);
    return data.notable.at(0);
}

TEST(DecisionReader, AgreesWithASlowOneOnRandomLines) {
    std::mt19937_64 random(17);
    for (int round = 0; round < 30; ++round) {
        std::string text;
        std::vector<Json> want;
        for (std::uint64_t i = random() % 60; i > 0; --i) {
            const std::array<Json, 3> verdicts{nullptr, true, false};
            const std::array<std::string, 3> actions{"keep", "replace", "set"};
            const std::array<std::string, 4> states{"applied", "late", "refused", "undone"};
            Json line = fake_decision(random() % 90, random() % 4, actions[random() % 3],
                                      verdicts[random() % 3]);
            line["status"] = states[random() % 4];
            if (line["outcome"].is_object()) line["outcome"]["rows"] = double(random() % 200);
            text += line.dump() + "\n";
            want.push_back(line);
        }
        const DecisionData data = decisions_in(text);
        ASSERT_EQ(data.points.size(), want.size());
        EXPECT_EQ(data.lines, want.size());
        EXPECT_EQ(data.agent, want.empty() ? "" : "bandit");
        for (std::size_t i = 0; i < want.size(); ++i) {
            const report::DecisionPoint& point = data.points[i];
            const Json& line = want[i];
            EXPECT_EQ(point.step, line.at("step"));
            EXPECT_EQ(point.rank, line.at("rank"));
            EXPECT_EQ(point.undone, line.at("status") == "undone");
            EXPECT_EQ(point.failed, line.at("status") == "late" || line.at("status") == "refused");
            EXPECT_EQ(text.substr(point.offset, point.length), line.dump());
            const bool judged = line.at("outcome").is_object();
            const bool tied = judged && line.at("outcome").at("rows") == 90.0;
            ASSERT_EQ(point.verdict == Judgement::undecided, !judged);
            ASSERT_EQ(point.verdict == Judgement::no_effect, tied);
            if (!judged || tied) continue;
            EXPECT_EQ(point.verdict == Judgement::right, line.at("outcome").at("correct"));
            const double rows = line.at("outcome").at("rows");
            EXPECT_NEAR(point.gain, (90 - rows) / std::max(90.0, rows), 1e-6);
        }
    }
}

TEST(DecisionReader, DamagedLinesAreLeftOutAndCounted) {
    const std::string good = fake_decision(4, 1, "set", true).dump() + "\n";
    for (const char* key : {"step", "rank", "status", "action"}) {
        Json without = fake_decision(5, 0, "keep", nullptr);
        without.erase(key);
        Json odd = fake_decision(5, 0, "keep", nullptr);
        odd[key] = -1;
        const DecisionData data = decisions_in(good + without.dump() + "\n" + odd.dump() + "\n");
        EXPECT_EQ(data.damaged, 2U) << key;
        EXPECT_EQ(data.lines, 1U) << key;
        EXPECT_FALSE(data.cut);
    }
    for (const char* garbage : {"no JSON", "[]", "null", "{", "\xff\xfe", "{\"step\":}"}) {
        const DecisionData data = decisions_in(std::string(garbage) + "\n" + good);
        EXPECT_EQ(data.damaged, 1U) << garbage;
        ASSERT_EQ(data.points.size(), 1U) << garbage;
        EXPECT_EQ(data.points[0].offset, std::string(garbage).size() + 1);
    }
}

TEST(DecisionReader, ALastLineWithoutItsEndIsCutNotDamaged) {
    const std::string good = fake_decision(4, 1, "set", true).dump();
    for (std::size_t size = 1; size + 1 < good.size(); size += 7) {
        const DecisionData data = decisions_in(good + "\n" + good.substr(0, size));
        ASSERT_EQ(data.damaged, 0U) << size;
        ASSERT_EQ(data.lines + (data.cut ? 1U : 0U), 2U) << size;
    }
    EXPECT_EQ(decisions_in(good).lines, 1U);
    EXPECT_FALSE(decisions_in(good).cut);
    EXPECT_TRUE(decisions_in("").present);
    EXPECT_TRUE(decisions_in("\n\n").points.empty());
}

TEST(DecisionReader, SaysWhatWasDecidedInWords) {
    Json line = fake_decision(8, 2, "replace", true);
    EXPECT_EQ(words_of(line).action, "replace");
    EXPECT_EQ(words_of(line).alternative, "keep");
    EXPECT_EQ(words_of(line).rows, 80.0);
    EXPECT_EQ(words_of(line).effective_step, 9U);
    line["action"]["fraction"] = 0.25;
    EXPECT_EQ(words_of(line).action, "replace up to 25 %");
    line["action"]["fraction"] = 1;
    EXPECT_EQ(words_of(line).action, "replace");
    EXPECT_EQ(words_of(fake_decision(8, 2, "set", nullptr)).action,
              "set policy window:32, window 32");
    EXPECT_EQ(words_of(fake_decision(8, 2, "keep", nullptr)).action, "keep");
    line["status"] = "refused";
    line["problem"] = "no such policy";
    line["latency"] = "soon";
    line["effective_step"] = nullptr;
    line["reason"] = 5;
    const report::DecisionText odd = words_of(line);
    EXPECT_EQ(odd.problem, "no such policy");
    EXPECT_EQ(odd.status, "refused");
    EXPECT_EQ(odd.latency, std::nullopt);
    EXPECT_EQ(odd.effective_step, 8U) << "its own, where none is told";
    EXPECT_EQ(odd.reason, "");
}

TEST(DecisionReader, OfManyTheOnesWorthReadingAreKept) {
    std::string text;
    for (std::uint64_t step = 0; step < 600; ++step)
        text += fake_decision(step, 0, step % 3 == 0 ? "set" : "keep", nullptr).dump() + "\n";
    text += fake_decision(600, 0, "replace", false).dump() + "\n";
    const DecisionData data = decisions_in(text);
    EXPECT_EQ(data.points.size(), 601U);
    ASSERT_EQ(data.notable.size(), 250U);
    std::uint64_t sets = 0;
    for (std::size_t i = 0; i < data.notable.size(); ++i) {
        sets += data.notable[i].action.starts_with("set") ? 1U : 0U;
        if (i > 0) {
            ASSERT_LT(data.notable[i - 1].step, data.notable[i].step);
        }
    }
    EXPECT_EQ(sets, 200U) << "all that changed a knob";
    EXPECT_EQ(data.notable.back().step, 600U) << "and what was wrong";
}

report::EpochFile epochs_in(const std::string& text) {
    const test::TempDir folder;
    test::write_file(folder / "epochs.jsonl", text);
    return report::read_epochs(folder / "epochs.jsonl");
}

TEST(EpochReader, ReadsEveryNumberAndCountsFromOne) {
    const test::FakeRun run{.steps = 40, .ranks = 1, .steps_per_epoch = 4};
    const report::EpochFile read = epochs_in(test::fake_epochs(run));
    ASSERT_EQ(read.epochs.size(), 10U);
    for (std::size_t e = 0; e < read.epochs.size(); ++e) {
        const double grown = 0.8875 - 0.1 / static_cast<double>(e + 1);
        EXPECT_EQ(read.epochs[e].epoch, e + 1);
        EXPECT_DOUBLE_EQ(read.epochs[e].loss.value_or(-1), 1.0 / static_cast<double>(e + 1));
        EXPECT_DOUBLE_EQ(read.epochs[e].test.value_or(-1), grown);
        EXPECT_EQ(read.epochs[e].seconds, 4.0);
        EXPECT_EQ(read.epochs[e].evaluation_seconds, 0.5);
    }
    EXPECT_EQ(read.damaged, 0U);
    EXPECT_FALSE(read.cut);
}

TEST(EpochReader, DamagedLinesAreLeftOutAndCounted) {
    const std::string good = "{\"epoch\":0,\"loss\":2}\n";
    for (const char* garbage : {"x", "{}", "[0]", "{\"epoch\":-1}", "{\"epoch\":null}", "\xff",
                                "{\"epoch\":\"1\"}", "{\"epoch\":1e300}", "{\"epoch\":1"}) {
        const report::EpochFile read = epochs_in(good + garbage + "\n" + good);
        EXPECT_EQ(read.damaged, 1U) << garbage;
        EXPECT_EQ(read.epochs.size(), 2U) << garbage;
        EXPECT_FALSE(read.cut);
        const report::EpochFile last = epochs_in(good + garbage);
        EXPECT_EQ(last.damaged, 0U) << garbage;
        EXPECT_TRUE(last.cut) << garbage;
    }
}

TEST(EpochReader, WhatIsNoNumberIsAbsent) {
    const report::EpochFile read = epochs_in(
        "{\"epoch\":3,\"loss\":null,\"seconds\":\"4\",\"accuracy\":{\"valid\":0.5,\"test\":[]}}\n");
    ASSERT_EQ(read.epochs.size(), 1U);
    EXPECT_EQ(read.epochs[0].epoch, 4U);
    EXPECT_FALSE(read.epochs[0].loss || read.epochs[0].seconds || read.epochs[0].test);
    EXPECT_EQ(read.epochs[0].valid, 0.5);
}

TEST(FactsReader, LaysObjectsFlat) {
    const Json json{{"a", {{"b", 1.5}, {"yes", true}, {"none", nullptr}}},
                    {"words", {"x", "y"}},
                    {"counts", {3, 4, 5}},
                    {"mixed", {1, "two"}}};
    const report::Facts facts = report::flat_facts(json);
    EXPECT_EQ(facts.number("a.b"), 1.5);
    EXPECT_EQ(facts.number("a.yes"), 1.0);
    EXPECT_EQ(facts.number("a.none"), std::nullopt);
    EXPECT_EQ(facts.text("a.b"), "") << "a number has no text";
    EXPECT_THAT(facts.list("words"), testing::ElementsAre("x", "y"));
    EXPECT_THAT(facts.number_list("counts"), testing::ElementsAre(3, 4, 5));
    EXPECT_THAT(facts.number_list("mixed"), testing::ElementsAre(1));
    EXPECT_TRUE(facts.list("mixed").empty()) << "it ends at the first that is no text";
    EXPECT_TRUE(report::flat_facts(Json()).empty());
}

}  // namespace
}  // namespace rudder
