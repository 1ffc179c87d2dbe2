// Explanations as they are read and worded: of a folder, of two runs, by a language model.
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
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
using testing::Not;
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

/// Of two runs that differ in one option, whether that explains a longer part.
bool explains(const std::string& option, const std::string& before, const std::string& after,
              double Seconds::*part) {
    ExplainedRun first = healthy();
    ExplainedRun second = healthy();
    first.settings[option] = before;
    second.settings[option] = after;
    second.step.*part += 0.006;
    settle(second);
    const std::string told = report::difference_of(first, second).explanation;
    const bool named = told.find("is explained by " + option + " (") != std::string::npos;
    EXPECT_TRUE(named ||
                told.find("which none of what was set otherwise explains") != std::string::npos)
        << told;
    // The other way round it is the other way.
    if (before != after) {
        const std::string back = report::difference_of(second, first).explanation;
        EXPECT_EQ(back.find("is explained by " + option + " (") != std::string::npos, named)
            << back;
    }
    return named;
}

/// A larger network does not compute for less time, nor a slower link wait less.
TEST(ExplainTwo, AnOptionThatActsTheOtherWayExplainsNothing) {
    struct Case {
        const char* option;
        const char* less;
        const char* more;
        double Seconds::*part;
        bool longer;  ///< more makes the part longer
    };
    const std::vector<Case> cases{
        {"hidden", "16", "64", &Seconds::compute, true},
        {"hidden", "16", "64", &Seconds::wait_gradients, true},
        {"fanout", "5,10", "10,10", &Seconds::compute, true},
        {"threads", "2", "4", &Seconds::compute, false},
        {"buffer", "0.1", "0.25", &Seconds::wait_rows, false},
        {"buffer-bytes", "900MB", "1GB", &Seconds::wait_rows, false},
        {"in-flight", "1", "2", &Seconds::wait_rows, false},
        {"link", "100us,1gbit", "100us,100mbit", &Seconds::wait_rows, true},
        {"link", "100us,1gbit", "1ms,1gbit", &Seconds::wait_gradients, true},
        {"link", "", "1ms,1gbit", &Seconds::wait_rows, true},
        {"slow", "", "1:4", &Seconds::wait_ranks, true},
        {"slow", "1:2", "1:4", &Seconds::compute, true},
    };
    for (const Case& one : cases) {
        EXPECT_EQ(explains(one.option, one.less, one.more, one.part), one.longer) << one.option;
        EXPECT_EQ(explains(one.option, one.more, one.less, one.part), !one.longer) << one.option;
    }
    // Which way these go is not known: they may.
    EXPECT_TRUE(explains("policy", "lru", "window", &Seconds::wait_rows));
    EXPECT_TRUE(explains("fanout", "5,10", "10,5", &Seconds::compute));
    EXPECT_TRUE(explains("fanout", "5,10", "10", &Seconds::compute));
    EXPECT_TRUE(explains("link", "1ms,1gbit", "100us,100mbit", &Seconds::wait_rows));
    EXPECT_TRUE(explains("threads", "0", "4", &Seconds::compute)) << "0 are all there are";
    // And these act on something else.
    EXPECT_FALSE(explains("hidden", "16", "64", &Seconds::wait_rows));
    EXPECT_FALSE(explains("seed", "1", "2", &Seconds::compute));
}

/// What runs are told by their cards: another partition, another machine.
TEST(ExplainTwo, PartitionAndMachineAreComparedToo) {
    ExplainedRun before = healthy();
    ExplainedRun after = healthy();
    before.partition = "10 vertices and 20 edges in 2 parts by metis, which cut 10.0 %";
    after.partition = "10 vertices and 20 edges in 2 parts by hash, which cut 50.0 %";
    before.host = "a";
    after.host = "b";
    after.version = "9.9.9";  // of the first it is not known
    wait_for_rows(after, 0.006);
    const report::RunDifference d = report::difference_of(before, after);
    EXPECT_EQ(d.settings.size(), 2U);
    EXPECT_THAT(d.explanation, HasSubstr("is explained by partition (10 vertices"));
    ExplainedRun slower = before;
    slower.host = "b";
    slower.step.compute += 0.006;
    settle(slower);
    EXPECT_THAT(report::difference_of(before, slower).explanation,
                HasSubstr("is explained by host (a, then b)."));
}

/// Nothing was set otherwise, but one of them had to share its cores.
TEST(ExplainTwo, NamesWhatLimitsOneOfThemAlone) {
    ExplainedRun quiet = healthy();
    quiet.cpu = 0.9 * quiet.total * quiet.cores;
    ExplainedRun busy = quiet;
    busy.step.compute += 0.030;
    settle(busy);
    EXPECT_THAT(report::difference_of(quiet, busy).explanation,
                HasSubstr("30.00 ms are computing, which goes with what limits the second alone: "
                          "shared cores."));
    busy.settings["hidden"] = "64";
    EXPECT_THAT(report::difference_of(busy, quiet).explanation,
                HasSubstr("is explained by hidden (64, then not given), and goes with what limits "
                          "the first alone: shared cores."));
    // Both had to, one of them much more.
    ExplainedRun busier = busy;
    busier.step.compute += 0.040;
    settle(busier);
    EXPECT_THAT(report::difference_of(busy, busier).explanation,
                HasSubstr("which goes with what limits the second more: shared cores."));
    quiet.cpu = busy.cpu = 0;
    EXPECT_THAT(report::difference_of(busy, quiet).explanation, Not(HasSubstr("limits")));
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

TEST(ExplainWords, NumbersInWordsAndOtherDigitsAreNumbers) {
    const auto found = [](std::string_view text) {
        std::vector<std::string> all;
        for (const report::NumberWord& one : report::number_words(text))
            all.push_back(one.value ? fmt::format("{}={:g}", one.text, *one.value)
                                    : std::string(one.text));
        return all;
    };
    EXPECT_THAT(found("Seventy percent, TWICE as much; half-way."),
                ElementsAre("Seventy=70", "TWICE=2", "half=0.5"));
    EXPECT_THAT(found("One host, the first of those, often tends to someone's fortune."),
                IsEmpty());
    EXPECT_THAT(found("x² costs ½ of ٧ or ７, é – µs × “y”"), ElementsAre("²", "½", "٧", "７"));
    EXPECT_THAT(found(std::string("a\xff") + "\xc2"), IsEmpty()) << "no text at all";
}

/// What a model may not say in digits it may not say in words either.
TEST(ExplainWords, ANumberInWordsMustBeOfTheEvidence) {
    report::Finding finding;
    finding.cause = "slow link";
    finding.text = "Slow link: rows take 12 ms, twice as long.";
    finding.change = "--threads 4";
    const auto foreign = [&](const std::string& words) {
        return report::foreign_number(words, {finding});
    };
    EXPECT_EQ(foreign("Slow link: it takes twelve ms, two times as long; take four threads."), "");
    EXPECT_EQ(foreign("Slow link: doubled."), "") << "the finding says twice";
    EXPECT_EQ(foreign("It gains Seventy percent."), "Seventy");
    EXPECT_EQ(foreign("It takes half as long."), "half");
    EXPECT_EQ(foreign("It gains ７0 %."), "0") << "the digits that are read come first";
    EXPECT_EQ(foreign("It gains ７ %."), "７");
    finding.text += " x²";
    EXPECT_EQ(foreign("x²"), "");
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
        EXPECT_THAT(refused(reply), Not(StartsWith("taken"))) << reply;
}

}  // namespace
}  // namespace rudder::test
