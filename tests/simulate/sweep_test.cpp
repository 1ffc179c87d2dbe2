// The figures of a sweep, from runs that are made by hand.
#include "run/simulate/sweep.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "report/page/words.hpp"

namespace rudder::test {

namespace {

using run::Scenario;
using run::SweptRun;
using testing::HasSubstr;

/// Four ranks, ten steps of 2 ms each.
SweptRun made_run(const std::string& policy, const std::string& note, double rows_ms) {
    SweptRun run;
    run.job.at = {{"train.policy", policy}, {"title", note}};
    run.made.step_seconds = 0.002;
    run.made.receive_skew = 1.25;
    train::Summary& s = run.made.summary;
    s.ranks = 4;
    s.hosts = 2;
    s.steps = 10;
    s.seconds.steps.compute = 40 * 0.001;
    s.seconds.steps.wait_rows = 40 * rows_ms / 1000;
    s.seconds.steps.wait_gradients = 40 * 0.00025;
    s.seconds.steps.wait_ranks = 40 * 0.00005;
    s.rows.rows.hit = 300;
    s.rows.rows.demand = 100;
    s.rows.rows.replacement = 20;
    s.rows.rows.ahead = 30;
    s.bytes.received_total = 123'456;
    return run;
}

Scenario scenario() {
    return Scenario::parse(
        "title = 'Of <two>'\nranks = 4\n[graph]\nsource = 'like:arxiv'\n"
        "[sweep]\n\"train.policy\" = ['none', 'lru']\n\"title\" = ['a', 'b']\n",
        "two.toml", false);
}

TEST(Sweep, FiguresAreOfAStepOfOneRank) {
    const std::vector<std::string> figures = run::sweep_figures(made_run("none", "a", 0.5));
    const std::vector<std::string> names = run::sweep_figures();
    ASSERT_EQ(figures.size(), names.size());
    EXPECT_EQ(figures, (std::vector<std::string>{"4", "2", "10", "2", "1", "0.5", "0.25", "0.05",
                                                 "0.7500", "15", "12346", "1.250"}));
    EXPECT_EQ(names.front(), "ranks");
    EXPECT_EQ(names.back(), "receive_skew");
}

TEST(Sweep, FiguresOfNothingAreZero) {
    const std::vector<std::string> figures = run::sweep_figures(SweptRun{});
    EXPECT_EQ(figures[8], "0.0000");
    EXPECT_EQ(figures[3], "0");
}

TEST(Sweep, TheTableHasALineForEachRun) {
    const std::vector<SweptRun> runs{made_run("none", "a, b", 0.5), made_run("lru", "b", 0.25)};
    EXPECT_EQ(run::sweep_csv(scenario(), runs),
              "train.policy,title,ranks,hosts,steps,step_ms,compute_ms,wait_rows_ms,"
              "wait_gradients_ms,wait_ranks_ms,hit_rate,rows_per_step,bytes_per_step,"
              "receive_skew\n"
              "none,\"a, b\",4,2,10,2,1,0.5,0.25,0.05,0.7500,15,12346,1.250\n"
              "lru,b,4,2,10,2,1,0.25,0.25,0.05,0.7500,15,12346,1.250\n");
}

TEST(Sweep, ProgramsGetNumbers) {
    const std::vector<SweptRun> runs{made_run("none", "a", 0.5)};
    const Json list = run::sweep_json(runs);
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0].at("swept").at("train.policy"), "none");
    EXPECT_EQ(list[0].at("rows_per_step"), 15);
    EXPECT_EQ(list[0].at("wait_rows_ms"), 0.5);
    EXPECT_EQ(list[0].at("hit_rate"), 0.75);
    EXPECT_EQ(list[0].size(), run::sweep_figures().size() + 1);
}

TEST(Sweep, TheDrawingHasABarForEachRun) {
    const std::vector<SweptRun> runs{made_run("none", "a", 0.5), made_run("lru", "b", 0.25)};
    const std::string svg = run::sweep_svg(scenario(), runs);
    EXPECT_THAT(svg, testing::StartsWith("<svg "));
    EXPECT_THAT(svg, testing::EndsWith("</svg>\n"));
    EXPECT_THAT(svg, HasSubstr("Of &lt;two&gt;: time of a step"));
    EXPECT_THAT(svg, HasSubstr("policy none, title a"));
    EXPECT_THAT(svg, HasSubstr("policy lru, title b"));
    // What its parts add up to stands behind a bar.
    EXPECT_THAT(svg, HasSubstr(">" + report::value_text(0.0018, report::Unit::seconds) + "<"));
    EXPECT_THAT(svg, HasSubstr(">" + report::value_text(0.00155, report::Unit::seconds) + "<"));
}

}  // namespace

}  // namespace rudder::test
