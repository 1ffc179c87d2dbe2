// Runs that grow while they are looked at, long ones, and what a run is explained by.
#include <fstream>
#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/json.hpp"
#include "report/catalogue.hpp"
#include "report/json_lines_sink.hpp"
#include "report/run_follower.hpp"
#include "report/run_table.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "run/read_parts.hpp"

#include "explain/explanation.hpp"
#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using report::ExplainedRun;
using report::RunFollower;
using testing::HasSubstr;

/// The folder of a run of which more and more is written.
class GrowingRun : public testing::Test {
protected:
    void SetUp() override {
        write_fake_run(source_.path(), run_);
        Json card = fake_run_json(run_);
        card["state"] = "interrupted";
        write_file(folder_ / "run.json", card.dump());
        for (const char* name : {"metrics.jsonl", "epochs.jsonl"})
            texts_[name] = read_text(source_ / name, 1U << 24);
        const TempDir decided;
        report::JsonLinesSink sink(decided.path(), 0, {});
        std::vector<steer::DecisionRecord> decisions(3);
        for (std::size_t i = 0; i < decisions.size(); ++i) {
            decisions[i].step = 4 * i;
            decisions[i].agent = "bandit";
            decisions[i].action = steer::Action::replace(steer::Reason::none);
        }
        sink.decisions(decisions);
        texts_["decisions.jsonl"] = read_text(decided / "decisions.jsonl", 1U << 24);
    }
    void append(const std::string& name, std::size_t bytes) {
        std::size_t& at = written_[name];
        const std::string piece = texts_[name].substr(at, bytes);
        std::ofstream(folder_ / name, std::ios::app | std::ios::binary) << piece;
        at += piece.size();
    }
    [[nodiscard]] bool whole() const {
        for (const auto& [name, text] : texts_) {
            const auto at = written_.find(name);
            if (at == written_.end() || at->second < text.size()) return false;
        }
        return true;
    }
    /// Steps whose line of rank 0 is there up to its end.
    [[nodiscard]] std::uint64_t steps_written() {
        const std::string text = texts_["metrics.jsonl"].substr(0, written_["metrics.jsonl"]);
        std::uint64_t steps = 0;
        for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos;
             at = end + 1) {
            const Json line = Json::parse(text.substr(at, end - at));
            if (line.at("rank") == 0) steps = line.at("step").get<std::uint64_t>() + 1;
        }
        return steps;
    }
    /// As one who looks for the first time sees it.
    [[nodiscard]] std::string fresh() {
        RunFollower follower(folder_.path());
        return to_json(follower.look()).dump();
    }

    FakeRun run_{.steps = 20};
    TempDir source_;
    TempDir folder_;
    std::map<std::string, std::string> texts_;
    std::map<std::string, std::size_t> written_;
};

TEST_F(GrowingRun, WhoFollowsFromTheStartKnowsWhatOneLookAtTheEndTells) {
    std::mt19937 random(3);
    RunFollower follower(folder_.path());
    EXPECT_EQ(follower.look().step, 0U);
    std::size_t looks = 0;
    while (!whole()) {
        for (const auto& [name, text] : texts_)
            append(name, random() % (name == "metrics.jsonl" ? 700 : 90));  // lines are torn
        const report::Standing standing = follower.look();
        ASSERT_EQ(standing.step, steps_written());
        ASSERT_EQ(to_json(standing).dump(), fresh());
        ++looks;
    }
    EXPECT_GT(looks, 50U);
    const report::Standing standing = follower.look();
    EXPECT_EQ(standing.step, 20U);
    EXPECT_EQ(standing.by_rank.size(), 3U);
    EXPECT_EQ(standing.decisions, 3U);
    ASSERT_TRUE(standing.decision);
    EXPECT_EQ(standing.decision->step, 8U);
    EXPECT_EQ(standing.policy, "window:16");
    EXPECT_EQ(standing.valid_epoch, 5U);
    EXPECT_NEAR(standing.loss.value_or(0), 3.0 / 20, 1e-12);
}

TEST_F(GrowingRun, ARunThatIsBegunAnewIsForgotten) {
    for (const auto& [name, text] : texts_)
        append(name, text.size());
    RunFollower follower(folder_.path());
    EXPECT_EQ(follower.look().step, 20U);
    // Another run in the same folder, longer than the first was when it was looked at.
    FakeRun longer = run_;
    longer.steps = 31;
    longer.seed = 5;
    write_file(folder_ / "metrics.jsonl", fake_metrics(longer));
    std::filesystem::remove(folder_ / "decisions.jsonl");
    Json card = fake_run_json(longer);
    card["started"] = "2026-11-16T09:00:00Z";
    card["state"] = "interrupted";
    write_file(folder_ / "run.json", card.dump());
    const report::Standing standing = follower.look();
    EXPECT_EQ(standing.step, 31U);
    EXPECT_EQ(standing.decisions, 0U) << "those were the other run's";
    EXPECT_EQ(to_json(standing).dump(), fresh());
}

TEST_F(GrowingRun, OfALongRunTheEndIsEnough) {
    run_.steps = 2800;  // about 5.5 MB: more than is looked back
    const std::string metrics = fake_metrics(run_);
    ASSERT_GT(metrics.size(), 5U << 20);
    write_file(folder_ / "metrics.jsonl", metrics);
    RunFollower follower(folder_.path());
    const report::Standing standing = follower.look();
    EXPECT_EQ(standing.step, 2800U);
    EXPECT_EQ(standing.by_rank.size(), 3U);
    EXPECT_EQ(standing.epoch, 2799 / run_.steps_per_epoch + 1);
    const Json more = fake_step(run_, 2800, 0);
    std::ofstream(folder_ / "metrics.jsonl", std::ios::app) << more.dump() << "\n";
    EXPECT_EQ(follower.look().step, 2801U);
}

TEST_F(GrowingRun, TablesHoldWhatATreeOfEachLineHolds) {
    write_file(folder_ / "metrics.jsonl",
               texts_["metrics.jsonl"] + texts_["metrics.jsonl"].substr(0, 100));
    const auto size =
        report::write_run_table(folder_.path(), report::RunTable::steps, folder_ / "table.csv");
    EXPECT_EQ(size.lines, run_.steps * run_.ranks);
    EXPECT_EQ(size.left_out, 1U) << "the line that is torn";
    const std::string text = read_text(folder_ / "table.csv", 1U << 24);
    const auto lines = split(text, '\n');
    const auto names = split(lines[0], ',');
    std::size_t compared = 0;
    for (std::uint64_t i = 0; i < size.lines; ++i) {
        const Json step = fake_step(run_, i / run_.ranks, i % run_.ranks);
        const auto cells = split(lines[i + 1], ',');
        ASSERT_EQ(cells.size(), names.size());
        for (std::size_t c = 0; c < names.size(); ++c) {
            const Json* value = &step;
            for (const std::string_view key : split(names[c], '.')) {
                const auto found = value->find(key);
                value = found == value->end() ? nullptr : &*found;
                if (value == nullptr) break;
            }
            if (value == nullptr) {
                ASSERT_EQ(cells[c], "") << names[c];
            } else if (value->is_string()) {
                ASSERT_EQ(cells[c], value->get<std::string>());
            } else {
                ASSERT_EQ(parse_double(cells[c]), value->get<double>()) << names[c];
                ++compared;
            }
        }
    }
    EXPECT_GT(compared, 20 * size.lines);
}

/// What a run is explained by, of its summary, its card and its options.
ExplainedRun explained(const Json& summary, const Json& card = Json::object(),
                       const std::string& config = "",
                       const std::vector<report::RankTotals>& ranks = {}) {
    report::RunData run;
    run.path = "run";
    run.summary = report::flat_facts(summary);
    run.run = report::flat_facts(card);
    run.config = config;
    run.metrics.by_rank = ranks;
    return report::explained_run(run);
}

TEST(ExplainedRuns, WhereRanksAre) {
    const Json eight{{"ranks", 8}, {"hosts", 2}};
    EXPECT_EQ(explained(eight).machine_ranks, 4) << "of two machines";
    Json modelled = eight;
    modelled["link"] = "1ms,8mbit";
    const ExplainedRun linked = explained(modelled);
    EXPECT_EQ(linked.machine_ranks, 8) << "a modelled link is of one machine";
    ASSERT_TRUE(linked.modelled);
    EXPECT_DOUBLE_EQ(linked.modelled->delay, 1e-3);
    EXPECT_DOUBLE_EQ(linked.modelled->rate, 1e6);
    EXPECT_EQ(explained(eight, {}, "ranks-per-host = 4\n").machine_ranks, 8);
    const ExplainedRun unknown = explained(Json::object(), {{"ranks", 3}, {"cores", 12}});
    EXPECT_EQ(unknown.ranks, 3) << "of a run without a summary its card tells";
    EXPECT_EQ(unknown.cores, 12);
    EXPECT_EQ(unknown.totals, "metrics.jsonl");
    EXPECT_FALSE(unknown.timed());
}

TEST(ExplainedRuns, PoliciesAndLinksOfOthersAreNoError) {
    EXPECT_EQ(explained({{"policy", "window:24"}}).window, 24.0);
    const ExplainedRun none = explained({{"policy", "none"}});
    EXPECT_FALSE(none.buffered);
    EXPECT_FALSE(explained({{"policy", "window"}, {"buffer_rows", 0}}).buffered);
    const ExplainedRun other = explained({{"policy", "of another version"}, {"link", "a string"}});
    EXPECT_TRUE(other.buffered);
    EXPECT_FALSE(other.window || other.modelled);
}

TEST(ExplainedRuns, TimesAreOfAStepOfARank) {
    report::RankTotals slow = report::step_totals(
        {.step = 0.4, .stall = 0.1, .compute = 0.2, .wait_rows = 0.1, .rest = 0.1},
        {.hit = 6, .demand = 2}, 50);
    std::vector<report::RankTotals> ranks(2, slow);
    ranks[1] += slow;  // two lines of the second, one of the first
    ranks[0].edges = 80;
    const ExplainedRun run = explained(Json::object(), {{"ranks", 2}}, "", ranks);
    EXPECT_DOUBLE_EQ(run.step.step, 0.4);
    EXPECT_DOUBLE_EQ(run.step.compute, 0.2);
    EXPECT_DOUBLE_EQ(run.step.wait_rows, 0.1);
    EXPECT_EQ(run.steps, 1.5);
    EXPECT_EQ(run.remote, 24);
    ASSERT_EQ(run.pace.size(), 2U);
    EXPECT_EQ(run.pace[1].name, "rank 1");
    EXPECT_DOUBLE_EQ(run.pace[1].compute, 0.2);
    EXPECT_EQ(run.pace[1].edges, 50);
    EXPECT_EQ(run.pace[0].edges, 80);
    EXPECT_DOUBLE_EQ(run.total, 0.6) << "as long as its steps, where nobody says";
}

TEST(ExplainedRuns, BytesOfEvaluationAreNotOfSteps) {
    const ExplainedRun run =
        explained({{"steps", 10},
                   {"ranks", 2},
                   {"hosts", 2},
                   {"link", "0us,8mbit"},
                   {"bytes", {{"features", 700}, {"received_total", 90000}, {"evaluation", 50000}}},
                   {"rows", {{"hit", 5}, {"demand", 7}, {"replacement", 11}, {"ahead", 13}}}});
    EXPECT_EQ(run.wire_bytes, 40000);
    EXPECT_DOUBLE_EQ(run.wire().value_or(0), 40000.0 / 2 / 10 / 1e6);
    EXPECT_EQ(run.remote, 12);
    EXPECT_EQ(run.fetched, 31);
    EXPECT_EQ(run.feature_bytes, 700);
}

TEST(ExplainedRuns, SeedsAreVerticesWhereVerticesAreTrained) {
    const Json card{
        {"partition", {{"parts", 4}, {"train", 800}, {"train_balance", 1.5}, {"vertices", 9999}}}};
    EXPECT_EQ(explained(Json::object(), card).seeds, 300.0) << "of the part that has most";
    EXPECT_EQ(explained(Json::object(), card, "task = 'vertex'\n").seeds, 300.0);
    for (const char* task : {"link", "edge"}) {
        const auto run = explained(Json::object(), card, fmt::format("task = '{}'\n", task));
        EXPECT_FALSE(run.seeds) << task;
    }
}

TEST(ExplainedRuns, SettingsAsTheyWereWritten) {
    const auto settings = report::settings_of(
        "# link = '1ms'\nbatch=32\r\n  link = \"1ms,1gbit\" \nout = 'a=b'\nfanout = [5, 10]\n");
    ASSERT_TRUE(settings);
    EXPECT_EQ(settings->size(), 4U);
    EXPECT_EQ(settings->at("batch"), "32");
    EXPECT_EQ(settings->at("link"), "1ms,1gbit");
    EXPECT_EQ(settings->at("out"), "a=b");
    EXPECT_EQ(settings->at("fanout"), "5,10");
    EXPECT_FALSE(report::settings_of("odd = 'x\n")) << "an open quote";
    EXPECT_FALSE(report::settings_of("empty =\n"));
}

TEST(ExplainedRuns, DifferencesNameWhatActsAndWhatDoesNot) {
    const auto run = [](double compute, const std::string& config, int ranks = 2) {
        ExplainedRun made = explained({{"ranks", ranks}, {"steps", 100}}, {}, config);
        made.step = {.step = compute + 0.002, .compute = compute, .rest = 0.002};
        return made;
    };
    EXPECT_EQ(
        report::difference_of(run(0.010, "seed = 1\n"), run(0.004, "seed = 2\n")).explanation,
        "Of the 6.00 ms by which a step is shorter, 6.00 ms are computing, which none of what "
        "was set otherwise explains; see below.");
    EXPECT_THAT(
        report::difference_of(run(0.004, "hidden = 16\nfanout = '5'\n"),
                              run(0.010, "hidden = 64\nlink = '1ms,1gbit'\n"))
            .explanation,
        HasSubstr("which is explained by fanout (5, then not given), hidden (16, then 64)."));
    const auto ranks = report::difference_of(run(0.010, "", 2), run(0.010, "", 4));
    ASSERT_EQ(ranks.settings.size(), 1U);
    EXPECT_EQ(ranks.settings[0].option, "ranks");
    EXPECT_EQ(ranks.settings[0].after, "4");
    // 5 % are as long: 12 against 12.6 ms are within, 12.7 are not.
    EXPECT_THAT(report::difference_of(run(0.010, ""), run(0.0106, "")).explanation,
                HasSubstr("within 5 %"));
    EXPECT_THAT(report::difference_of(run(0.010, ""), run(0.0107, "")).explanation,
                HasSubstr("Of the 0.70 ms by which a step is longer"));
}

}  // namespace
}  // namespace rudder::test
