// rudder report: of real runs, of runs that were cut or killed, and of what is no run.
#include <algorithm>
#include <csignal>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class Report : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    Words train(const std::string& out, const Words& more = {}) const {
        Words words{"train",   "parts", "--epochs", "2",          "--batch",  "40",
                    "--out",   out,     "--fanout", "4,6",        "--hidden", "8",
                    "--ranks", "2",     "--link",   "1us,10gbit", "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    /// The page, checked.
    std::string page(const std::filesystem::path& file) {
        const Outcome checked = run({"python3", RUDDER_SOURCE_DIR "/tests/report/check_page.py",
                                     (folder_ / file.string()).string()});
        EXPECT_EQ(checked.out + checked.err, "");
        return bytes_of(folder_ / file.string());
    }
};

TEST_F(Report, OfARealRunShowsItsSummary) {
    ok(train("run", {"--trace", "--policy", "lru", "--agent", "every:4"}));
    const Json summary = read_json(folder_ / "run/summary.json");
    const Json said = ok_json({"report", "run"});
    EXPECT_EQ(said.at("file"), "run/report.html");
    EXPECT_EQ(said.at("runs")[0].at("state"), "finished");
    EXPECT_EQ(said.at("runs")[0].at("missing"), Json::array());
    const std::string text = page("run/report.html");
    EXPECT_EQ(said.at("bytes"), text.size());
    const auto data = [](const Json& value, const std::string& key) {
        return fmt::format("value=\"{}\" data-key=\"{}\"", value.get<double>(), key);
    };
    EXPECT_THAT(text, HasSubstr(data(summary["accuracy"]["test"], "accuracy.test")));
    EXPECT_THAT(text, HasSubstr(data(summary["seconds"]["total"], "seconds.total")));
    EXPECT_THAT(text, HasSubstr("clairvoyant floor"));
    EXPECT_THAT(text, HasSubstr("rudder train parts --epochs 2"));
    // The floor step by step adds up to the one that the run found.
    const std::string exact = fmt::format("<th scope=\"row\">rows.floor</th><td>{}</td>",
                                          summary["rows"]["floor"].get<double>());
    EXPECT_THAT(text, HasSubstr(exact));
    // Made again, it takes the place of the old one.
    ok({"report", "run", "--quiet", "--no-floor"});
    EXPECT_THAT(page("run/report.html"), HasSubstr("the floor was not computed"));
}

TEST_F(Report, SeveralRunsAndWhereTheyGo) {
    ok(train("a"));
    ok(train("b", {"--policy", "none"}));
    EXPECT_EQ(ok_json({"report", "a", "b"}).at("file"), "report.html");
    EXPECT_THAT(page("report.html"), HasSubstr("Side by side"));
    refuse({"report", "a", "b"}, 2, {"exists already", "report.html", "--force"});
    ok({"report", "a", "b", "--force"});
    ok({"report", "a", "--out", "one.html"});
    refuse({"report", "a", "--out", "one.html"}, 2, {"exists already"});
}

/// Three folders of runs that differ in policy, agent and link: titles, columns and bars say so.
TEST_F(Report, OfThreeRunsSideBySide) {
    ok(train("a", {"--policy", "none"}));
    ok(train("b", {"--policy", "lru", "--agent", "every:4"}));
    Words slower = train("c", {"--policy", "window:8"});
    std::ranges::replace(slower, std::string("1us,10gbit"), std::string("1us,1gbit"));
    ok(slower);
    const Json said = ok_json({"report", "a", "b", "c", "--out", "three.html"});
    EXPECT_EQ(said.at("file"), "three.html");
    ASSERT_EQ(said.at("runs").size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(said.at("runs")[i].at("path"), std::string(1, static_cast<char>('a' + i)));
        EXPECT_EQ(said.at("runs")[i].at("missing"), Json::array());
    }
    const std::string text = page("three.html");
    for (const char* words :
         {"Side by side", "none", "lru", "every:4", "window:8", "1us,10gbit", "1us,1gbit",
          "Bytes of rows", "Rows fetched", "Time of a step", "Waiting for rows, step by step"})
        EXPECT_THAT(text, HasSubstr(words));
    // All of them train the same, so that their losses are drawn once.
    EXPECT_THAT(text, HasSubstr("The curves of all 3 are equal: drawn once."));
    // Each has its own part of the page below.
    for (const char* id : {"id=\"r1-time\"", "id=\"r2-time\"", "id=\"r3-time\""})
        EXPECT_THAT(text, HasSubstr(id));
    EXPECT_THAT(text, Not(HasSubstr("id=\"r4-time\"")));
}

TEST_F(Report, WhatIsNoRunIsRefused) {
    refuse({"report", "graph"}, 3, {"not a run folder", "graph", "rudder train --out"});
    refuse({"report", "nothing"}, 3, {"no such folder", "nothing"});
    refuse({"report"}, 2, {"RUN"});
    Words many{"report"};
    many.insert(many.end(), 25, "graph");
    refuse(many, 2, {"25 runs", "at most 24"});
}

TEST_F(Report, OfAFolderWithoutTheNewFiles) {
    ok(train("run"));
    for (const char* name : {"run.json", "epochs.jsonl"})
        std::filesystem::remove(folder_ / "run" / name);
    const Json said = ok_json({"report", "run"});
    EXPECT_EQ(said.at("runs")[0].at("missing").size(), 2U);
    const std::string text = page("run/report.html");
    EXPECT_THAT(text, HasSubstr("run.json is missing"));
    // The data are still there, and say how they were divided.
    EXPECT_THAT(text, HasSubstr("2 by ldg"));
    EXPECT_THAT(text, HasSubstr("rudder train parts --config run/config.toml"));
}

TEST_F(Report, OfARunThatWasKilledOrIsGoingOn) {
    ok(train("run"));
    std::filesystem::remove(folder_ / "run/summary.json");
    Json card = read_json(folder_ / "run/run.json");
    card["state"] = "running";
    write("run/run.json", card.dump());
    write("run/metrics.jsonl", bytes_of(folder_ / "run/metrics.jsonl") + "{\"step\": 99");
    EXPECT_EQ(ok_json({"report", "run"}).at("runs")[0].at("state"), "killed");
    EXPECT_THAT(page("run/report.html"), HasSubstr("The run was killed"));
    const int fd = ::open((folder_ / "run/metrics.jsonl").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(fd, LOCK_EX), 0);
    EXPECT_EQ(ok_json({"report", "run"}).at("runs")[0].at("state"), "running");
    ::close(fd);
    EXPECT_THAT(page("run/report.html"), HasSubstr("The run is still going on"));
}

TEST_F(Report, ATraceThatIsDamagedCostsTheFloorAlone) {
    ok(train("run", {"--trace"}));
    std::filesystem::remove(folder_ / "run/trace/host-00001/manifest.json");
    const Json said = ok_json({"report", "run"});
    EXPECT_THAT(said.at("runs")[0].at("missing").dump(), HasSubstr("The floor cannot be drawn"));
    EXPECT_THAT(page("run/report.html"), HasSubstr("Rows fetched per step"));
}

}  // namespace
}  // namespace rudder::test
