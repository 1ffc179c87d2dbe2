// Tables of a run as CSV: every number of its files, nothing that is not there.
#include "report/run_table.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/csv.hpp"
#include "report/catalogue.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using report::RunTable;

/// The lines of a table, cut at commas; no cell of these runs has one.
std::vector<std::vector<std::string>> cells_of(const std::string& text) {
    std::vector<std::vector<std::string>> lines;
    for (const std::string_view line : split(text, '\n')) {
        if (line.empty()) continue;
        auto& cells = lines.emplace_back();
        for (const std::string_view cell : split(line, ','))
            cells.emplace_back(cell);
    }
    return lines;
}

std::string written_table(const test::TempDir& folder, RunTable table) {
    const auto file = folder / "table.csv";
    (void)report::write_run_table(folder.path(), table, file);
    return read_text(file, 1U << 24);
}

TEST(CsvLines, QuoteWhatNeedsIt) {
    EXPECT_EQ(csv_cell("plain text"), "plain text");
    EXPECT_EQ(csv_cell("window:16,alpha:1"), "\"window:16,alpha:1\"");
    EXPECT_EQ(csv_cell("a \"b\"\nc"), "\"a \"\"b\"\"\nc\"");
    const std::vector<std::string> cells{"a", "", "c,d"};
    EXPECT_EQ(csv_line(cells), "a,,\"c,d\"\n");
}

TEST(RunTables, StepsHaveEveryNumberOfEveryLine) {
    const test::TempDir folder;
    const test::FakeRun run;
    test::write_fake_run(folder.path(), run);
    const auto lines = cells_of(written_table(folder, RunTable::steps));
    ASSERT_EQ(lines.size(), 1 + run.steps * run.ranks);
    const auto column = [&](const std::string& name) {
        const auto found = std::ranges::find(lines[0], name);
        EXPECT_NE(found, lines[0].end()) << name;
        return static_cast<std::size_t>(found - lines[0].begin());
    };
    for (const auto& line : lines)
        ASSERT_EQ(line.size(), lines[0].size());
    for (const auto& metric : report::metric_catalogue())
        (void)column(metric.path);
    // Step 7 of rank 2.
    const Json step = test::fake_step(run, 7, 2);
    const auto& line = lines[1 + 7 * run.ranks + 2];
    EXPECT_EQ(line[column("step")], "7");
    EXPECT_EQ(line[column("rank")], "2");
    EXPECT_EQ(line[column("rows.hit")], step["rows"]["hit"].dump());
    EXPECT_EQ(std::stod(line[column("seconds.stall")]), step["seconds"]["stall"].get<double>());
    EXPECT_EQ(std::stod(line[column("loss")]), step["loss"].get<double>());
    EXPECT_EQ(line[column("knobs.policy")], "window:16");
}

TEST(RunTables, WhatALineLacksIsEmptyAndWhatIsNoLineIsCounted) {
    const test::TempDir folder;
    Json step = test::fake_step({}, 0, 0);
    step["loss"] = nullptr;
    step.erase("knobs");
    test::write_file(folder / "metrics.jsonl", step.dump() + "\nnonsense\n{\"st");
    const auto size = report::write_run_table(folder.path(), RunTable::steps, folder / "table.csv");
    EXPECT_EQ(size.lines, 1U);
    EXPECT_EQ(size.left_out, 2U);
    const auto lines = cells_of(read_text(folder / "table.csv", 1U << 20));
    const auto loss = std::ranges::find(lines[0], "loss") - lines[0].begin();
    EXPECT_EQ(lines[1][static_cast<std::size_t>(loss)], "");
    EXPECT_EQ(lines[1].back(), "") << "no policy";
}

TEST(RunTables, EpochsHaveTheKeysOfTheirLines) {
    const test::TempDir folder;
    test::write_file(folder / "epochs.jsonl",
                     "{\"epoch\":0,\"loss\":1.5,\"accuracy\":{\"test\":0.25,\"train\":null}}\n"
                     "{\"epoch\":1,\"loss\":1.25,\"accuracy\":{\"test\":0.5,\"train\":0.75}}\n");
    EXPECT_EQ(written_table(folder, RunTable::epochs),
              "epoch,accuracy.test,accuracy.train,loss\n0,0.25,,1.5\n1,0.5,0.75,1.25\n");
}

TEST(RunTables, DecisionsAreInWords) {
    const test::TempDir folder;
    test::write_fake_run(folder.path());
    EXPECT_EQ(written_table(folder, RunTable::decisions),
              "step,rank,agent,action,status,effective_step,reason,note,problem,latency,verdict,"
              "rows,alternative,alternative_rows\n"
              "2,0,bandit,keep,applied,3,shadow_better,tried something: took it,,0.001,undecided,,"
              ",\n"
              "4,0,bandit,\"set policy window:32, window 32\",applied,5,shadow_better,tried "
              "something: took it,,0.001,right,80,keep,90\n"
              "6,1,bandit,replace,applied,7,shadow_better,tried something: took it,,0.001,wrong,"
              "100,keep,90\n");
}

TEST(RunTables, OfALongFileLoseNoLine) {
    const test::TempDir folder;
    std::string text;
    const std::string more(5000, 'x');
    constexpr int lines = 4000;  // 20 MB: more than is read at a time
    for (int i = 0; i < lines; ++i)
        text += fmt::format("{{\"epoch\":{},\"note\":\"{}\"}}\n", i, more);
    test::write_file(folder / "epochs.jsonl", text);
    const auto table = cells_of(written_table(folder, RunTable::epochs));
    ASSERT_EQ(table.size(), 1U + lines);
    for (int i = 0; i < lines; ++i)
        ASSERT_EQ(table[static_cast<std::size_t>(i) + 1][0], std::to_string(i));
}

TEST(RunTables, OfNothingAreRefused) {
    const test::TempDir folder;
    test::write_fake_run(folder.path());
    std::filesystem::remove(folder / "decisions.jsonl");
    try {
        (void)report::write_run_table(folder.path(), RunTable::decisions, folder / "table.csv");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_THAT(error.what(), testing::HasSubstr("the run has no decisions.jsonl"));
    }
}

}  // namespace
}  // namespace rudder
