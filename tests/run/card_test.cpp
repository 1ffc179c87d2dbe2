// run.json: how a run stands, its earlier starts, and cards that cannot be read or written.
#include <thread>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "rudder/core/file.hpp"
#include "run/run_card.hpp"

#include "support/temp_dir.hpp"

namespace rudder::run {
namespace {

using test::TempDir;

Json some_facts(const std::string& started = "2026-11-15T12:00:00Z") {
    return {{"schema", 1},
            {"version", "0.1.0"},
            {"command", {"rudder", "train", "parts"}},
            {"started", started},
            {"data", "parts"}};
}

Json card_at(const TempDir& folder) {
    return read_json(folder / "run.json");
}

TEST(Card, SaysThatTheRunRunsAndThenHowItEnded) {
    const TempDir folder;
    RunCard card(folder.path(), some_facts());
    Json json = card_at(folder);
    EXPECT_EQ(json.at("state"), "running");
    EXPECT_EQ(json.at("data"), "parts");
    EXPECT_EQ(json.at("resumed"), Json::array());
    EXPECT_TRUE(json.at("ended").is_null());
    EXPECT_TRUE(json.at("error").is_null());
    card.end("finished");
    json = card_at(folder);
    EXPECT_EQ(json.at("state"), "finished");
    EXPECT_THAT(json.at("ended").get<std::string>(), testing::MatchesRegex("....-..-..T..:..:..Z"));
    EXPECT_TRUE(json.at("error").is_null());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Card, TheFirstEndCounts) {
    const TempDir folder;
    RunCard card(folder.path(), some_facts());
    card.end("failed", "rank 1 died");
    const std::string text = read_text(folder / "run.json", 1U << 20U);
    card.end("finished");
    card.end("interrupted", "by a signal");
    EXPECT_EQ(read_text(folder / "run.json", 1U << 20U), text);
    EXPECT_EQ(card_at(folder).at("state"), "failed");
    EXPECT_EQ(card_at(folder).at("error"), "rank 1 died");
}

TEST(Card, OneEndCountsWhenManyThreadsTell) {
    for (int round = 0; round < 10; ++round) {
        const TempDir folder;
        RunCard card(folder.path(), some_facts());
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) {
            const std::string name = std::to_string(t);
            threads.emplace_back([&card, name] { card.end("state " + name, "error " + name); });
        }
        for (std::thread& thread : threads)
            thread.join();
        const auto state = card_at(folder).at("state").get<std::string>();
        ASSERT_THAT(state, testing::StartsWith("state "));
        EXPECT_EQ(card_at(folder).at("error"), "error " + state.substr(6));
    }
}

TEST(Card, KeepsEarlierStartsInTheirOrder) {
    const TempDir folder;
    RunCard(folder.path(), some_facts("first")).end("interrupted", "SIGINT");
    { const RunCard killed(folder.path(), some_facts("second")); }
    const RunCard now(folder.path(), some_facts("third"));
    const Json resumed = card_at(folder).at("resumed");
    ASSERT_EQ(resumed.size(), 2U);
    EXPECT_EQ(resumed.at(0).at("started"), "first");
    EXPECT_EQ(resumed.at(0).at("state"), "interrupted");
    EXPECT_EQ(resumed.at(0).at("error"), "SIGINT");
    EXPECT_EQ(resumed.at(0).at("command"), Json({"rudder", "train", "parts"}));
    EXPECT_EQ(resumed.at(1).at("started"), "second");
    EXPECT_EQ(resumed.at(1).at("state"), "killed") << "it said that it was running";
    EXPECT_TRUE(resumed.at(1).at("ended").is_null());
    EXPECT_FALSE(resumed.at(1).contains("data")) << "only what tells starts apart";
    EXPECT_FALSE(resumed.at(1).contains("resumed"));
}

TEST(Card, ThatCannotBeReadTellsNothing) {
    for (const char* damage : {"", "{\"state\":", "[1]", "null", "\"text\"", "\xff"}) {
        const TempDir folder;
        write_text(folder / "run.json", damage);
        const RunCard card(folder.path(), some_facts());
        EXPECT_EQ(card_at(folder).at("resumed"), Json::array()) << damage;
        EXPECT_EQ(card_at(folder).at("state"), "running");
    }
}

TEST(Card, ThatLacksFieldsTellsWhatItHas) {
    for (const char* damage : {"{}", "{\"resumed\":5}", "{\"resumed\":{\"a\":1},\"state\":null}"}) {
        const TempDir folder;
        write_text(folder / "run.json", damage);
        const RunCard card(folder.path(), some_facts());
        const Json resumed = card_at(folder).at("resumed");
        ASSERT_EQ(resumed.size(), 1U) << damage;
        for (const char* key : {"version", "command", "started", "ended", "state", "error"})
            EXPECT_TRUE(resumed.at(0).at(key).is_null()) << key;
    }
}

TEST(Card, NamesNeedNotBeUtf8) {
    const TempDir folder;
    Json facts = some_facts();
    facts["data"] = "caf\xe9";
    RunCard card(folder.path(), std::move(facts));
    EXPECT_EQ(card_at(folder).at("data"), "caf\uFFFD");
    card.end("failed", "no caf\xe9");
    EXPECT_EQ(card_at(folder).at("error"), "no caf\uFFFD");
}

TEST(Card, ThatCannotBeWrittenIsSaidOnce) {
    const TempDir folder;
    write_text(folder / "file", "");
    testing::internal::CaptureStderr();
    {
        RunCard card(folder / "file", some_facts());
        card.end("finished");
    }
    const std::string said = testing::internal::GetCapturedStderr();
    const std::string warning = "rudder: warning: cannot update run.json: ";
    EXPECT_THAT(said, testing::StartsWith(warning));
    EXPECT_EQ(said.find(warning, 1), std::string::npos) << said;
    EXPECT_EQ(std::filesystem::file_size(folder / "file"), 0U);
}

}  // namespace
}  // namespace rudder::run
