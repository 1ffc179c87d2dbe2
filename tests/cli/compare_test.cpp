// rudder compare as a user publishes it: repeats in turns, spread, CSV, traces, folders, reports.
#include <fmt/format.h>

#include "cli/verbs/compare_rows.hpp"
#include "rudder/core/text.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class Compare : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "300", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    static Words compare(const Words& more) {
        Words words{"compare",  "parts", "--epochs", "1",       "--batch",  "40",
                    "--hidden", "4",     "--fanout", "3,3",     "--policy", "none",
                    "--policy", "lru",   "--quiet",  "--ranks", "2",        "--ranks-per-host",
                    "1"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
};

TEST_F(Compare, RepeatsInTurnsWithSpreadCsvAndFolders) {
    const Json list = ok_json(compare(
        {"--repeat", "2", "--csv", "runs.csv", "--out", "out", "--trace", "--no-tensorboard"}));
    ASSERT_EQ(list.size(), 2U) << "one entry for each row";
    for (const Json& row : list) {
        EXPECT_EQ(row.at("repeats"), 2);
        const Json& step = row.at("spread").at("step_ms");
        EXPECT_LE(step.at("least"), step.at("median"));
        EXPECT_LE(step.at("median"), step.at("most"));
        EXPECT_EQ(row.at("spread").at("fetched").at("least"),
                  row.at("spread").at("fetched").at("most"))
            << "rows do not depend on the clock";
        EXPECT_GE(row.at("of_floor"), 1.0);
    }
    // A folder for each repeat, which knows what it is; the floor is in all.
    std::vector<std::string> started;
    for (const char* name :
         {"1-none/repeat-1", "2-lru/repeat-1", "1-none/repeat-2", "2-lru/repeat-2"}) {
        const auto folder = folder_ / "out" / name;
        const Json card = read_json(folder / "run.json");
        EXPECT_EQ(card.at("repeats"), 2);
        EXPECT_EQ(card.at("repeat"), name[std::string_view(name).size() - 1] - '0');
        EXPECT_EQ(card.at("partition").at("halo_from").size(), 2U);
        EXPECT_GT(read_json(folder / "summary.json").at("rows").at("floor"), 0);
        EXPECT_TRUE(std::filesystem::is_directory(folder / "trace")) << name;
        started.push_back(card.at("started"));
    }
    EXPECT_TRUE(std::ranges::is_sorted(started)) << "in turns";
    // A line for each run, in the order in which they ran.
    const std::string csv = bytes_of(folder_ / "runs.csv");
    const auto lines = split(csv, '\n');
    ASSERT_EQ(lines.size(), 6U) << "names, four runs, nothing";
    EXPECT_THAT(std::string(lines[0]),
                testing::StartsWith("row,policy,agent,link,repeat,ranks,steps,fetched,demand,"));
    EXPECT_THAT(std::string(lines[1]), testing::StartsWith("1,none,never,,1,2,"));
    EXPECT_THAT(std::string(lines[2]), testing::StartsWith("2,lru,never,,1,2,"));
    EXPECT_THAT(std::string(lines[3]), testing::StartsWith("1,none,never,,2,2,"));
    // One folder is enough for a report of all.
    const Json said = ok_json({"report", "out"});
    EXPECT_EQ(said.at("runs").size(), 4U);
    EXPECT_EQ(said.at("file"), "report.html");
    const std::string page = bytes_of(folder_ / "report.html");
    EXPECT_THAT(page, HasSubstr("2 settings, 4 runs"));
    EXPECT_THAT(page, HasSubstr("equal: drawn once"));
    EXPECT_THAT(page, HasSubstr("Halo between parts"));
}

TEST_F(Compare, OfOneRunEachKeepsItsFolders) {
    const std::string text = ok(compare({"--out", "out", "--no-tensorboard"}));
    EXPECT_THAT(text, testing::Not(HasSubstr("Medians")));
    EXPECT_THAT(text, testing::Not(HasSubstr(" to ")));
    const Json card = read_json(folder_ / "out/2-lru/run.json");
    EXPECT_EQ(card.at("title"), "lru");
    EXPECT_FALSE(card.contains("repeat"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out/2-lru/trace"));
}

TEST_F(Compare, RefusesWhatCannotBeWritten) {
    write("runs.csv", "mine");
    refuse(compare({"--csv", "runs.csv"}), 2, {"runs.csv", "--force"});
    EXPECT_EQ(bytes_of(folder_ / "runs.csv"), "mine");
    refuse(compare({"--repeat", "0"}), 2, {"repeat"});
    refuse(compare({"--trace"}), 2, {"--trace requires --out"});
}

/// A row whose runs' steps took so many milliseconds and fetched so many rows.
cli::ComparedRow row_of(const std::string& policy, const std::vector<double>& milliseconds,
                        std::uint64_t rows) {
    cli::ComparedRow row;
    row.options.policy = policy;
    for (const double ms : milliseconds) {
        cli::ComparedRun& run = row.runs.emplace_back();
        run.result.steps = 10;
        run.result.step_seconds.step = ms / 100;
        run.result.rows.demand = rows;
    }
    return row;
}

TEST(ComparedRows, HaveMediansAndSpread) {
    const auto spread = cli::spread_of({3, 1, 2});
    EXPECT_EQ(spread.least, 1);
    EXPECT_EQ(spread.median, 2);
    EXPECT_EQ(spread.most, 3);
    EXPECT_EQ(cli::spread_of({4, 1, 2, 3}).median, 2.5);
    cli::CompareFacts facts;
    facts.floor = 50;
    const std::vector<cli::ComparedRow> rows{row_of("none", {20, 24, 22}, 100),
                                             row_of("lru", {12, 11, 19}, 60)};
    EXPECT_EQ(&rows[0].middle(), &rows[0].runs[2]);
    const std::string table = cli::compare_table(rows, facts);
    EXPECT_THAT(table, HasSubstr("22.00 (20.00 to 24.00)"));
    EXPECT_THAT(table, HasSubstr("12.00 (11.00 to 19.00)"));
    EXPECT_THAT(table, HasSubstr("1.200")) << "60 rows over a floor of 50";
    EXPECT_THAT(cli::compare_advice(rows, facts),
                testing::EndsWith("No other row's times reach into its own."));
    const std::vector<cli::ComparedRow> near{row_of("none", {18, 24, 22}, 100),
                                             row_of("lru", {12, 11, 19}, 60)};
    EXPECT_THAT(cli::compare_advice(near, facts),
                HasSubstr("Times of none reach into its own: the order may be chance."));
}

}  // namespace
}  // namespace rudder::test
