// Explanations as they are read and worded: of a folder, of two runs, by a language model.
#include <fstream>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"

#include "explain/explanation.hpp"
#include "explain/wording.hpp"
#include "explain_plants.hpp"
#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using report::ExplainedRun;
using report::Finding;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Explain, ARunWithoutStepsIsNotJudged) {
    const ExplainedRun nothing;
    EXPECT_THAT(report::findings_of(nothing), IsEmpty());
    EXPECT_THAT(report::explanation_text(nothing, {}), HasSubstr("no steps"));
}

TEST(Explain, ReadsAFolderAndWhatARunWasTold) {
    const TempDir folder;
    write_fake_run(folder.path());
    std::ofstream(folder / "config.toml") << "# The options\nbatch = 32\nlink = '1ms,1gbit'\n";
    const ExplainedRun run = report::explained_run(report::read_run(folder.path()));
    EXPECT_EQ(run.batch, 32);
    EXPECT_EQ(run.setting("link"), "1ms,1gbit");
    EXPECT_EQ(run.setting("nothing"), "");
    EXPECT_EQ(run.steps, 12);
    EXPECT_EQ(run.pace.size(), 3U);
    double sum = 0;
    for (const double Seconds::*part :
         {&Seconds::compute, &Seconds::wait_rows, &Seconds::wait_gradients, &Seconds::wait_ranks,
          &Seconds::wait_agent, &Seconds::rest})
        sum += run.step.*part;
    EXPECT_NEAR(sum, run.step.step, 1e-12);
    EXPECT_NEAR(run.step.step, 10.0 / 36, 1e-12);
    EXPECT_EQ(run.window, 16.0) << "as steps had it";
}

TEST(ExplainTwo, NamesTheOptionThatActsOnWhatChanged) {
    const ExplainedRun before = healthy();
    ExplainedRun after = healthy();
    after.settings["policy"] = "none";
    after.settings["hidden"] = "16";
    after.settings["out"] = "other";
    wait_for_rows(after, 0.006);
    const report::RunDifference d = report::difference_of(before, after);
    EXPECT_EQ(d.parts.front().key, "wait_rows");
    EXPECT_EQ(d.settings.size(), 2U) << "where results go is beside the point";
    EXPECT_EQ(d.explanation,
              "Of the 6.00 ms by which a step is longer, 6.00 ms are waiting for rows, which is "
              "explained by policy (not given, then none).");
    const std::string text = report::difference_text(before, after, d);
    EXPECT_THAT(text,
                HasSubstr("  step                       10.00         16.00         +6.00\n"));
    EXPECT_EQ(report::difference_json(d).at("settings").size(), 2U);
    EXPECT_EQ(report::difference_of(before, before).explanation,
              "Steps take as long in both, within 5 %.");
    ExplainedRun slower = healthy();
    wait_for_rows(slower, 0.006);
    EXPECT_THAT(report::difference_of(before, slower).explanation, HasSubstr("no option differs"));
}

std::vector<Finding> two_findings() {
    ExplainedRun run = healthy();
    run.threads = 1;
    plants().at("no look-ahead")(run);
    return report::findings_of(run);
}

std::string reply_of(const std::string& order, const std::string& one, const std::string& two) {
    return Json{{"order", order}, {"finding_1", one}, {"finding_2", two}}.dump();
}

TEST(ExplainWords, NumbersAreThoseOfTheText) {
    EXPECT_THAT(report::numbers_in("a 12.50 ms, 3 % of 1,234 rows. 7."),
                ElementsAre(12.5, 3, 1234, 7));
    EXPECT_THAT(report::numbers_in("none"), IsEmpty());
}

TEST(ExplainWords, AreUsedWhereAllNumbersAreOfTheEvidence) {
    const auto findings = two_findings();
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(report::worded(reply_of("2,1", findings[0].text, findings[1].text), findings),
              "1. " + findings[1].text + "\n2. " + findings[0].text + "\n");
}

TEST(ExplainWords, AreRefusedOtherwise) {
    const auto findings = two_findings();
    const auto refused = [&](const std::string& reply) -> std::string {
        try {
            return "taken: " + report::worded(reply, findings);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::failed);
            return error.problem();
        }
    };
    EXPECT_EQ(refused(reply_of("1,2", "It gains 99.5 percent.", "x")),
              "the number 99.5 is not of the evidence");
    // A number of the other finding is not of this one.
    EXPECT_THAT(refused(reply_of("1,2", findings[1].text, findings[0].text)),
                HasSubstr("is not of the evidence"));
    EXPECT_EQ(refused(reply_of("1", "x", "y")), "invalid order of findings: '1'");
    EXPECT_EQ(refused(reply_of("1,1", "x", "y")), "invalid order of findings: '1,1'");
    EXPECT_EQ(refused(reply_of("1,2", "x", "")), "finding 2 has no words");
    EXPECT_EQ(refused(reply_of("2, 1", "x\x1b[2J", "y")),
              "the words of finding 1 hold control characters");
    for (const char* reply : {"{}", "I think it is the link.", "[1,2]"})
        EXPECT_THAT(refused(reply), testing::Not(StartsWith("taken"))) << reply;
}

}  // namespace
}  // namespace rudder::test
