// The text for Prometheus, number by number against the steps that it was made from.
#include <map>

#include <gmock/gmock.h>

#include "report/catalogue.hpp"
#include "report/prometheus_metrics.hpp"
#include "rudder/core/text.hpp"

#include "frames.hpp"

namespace rudder::test {
namespace {

/// Samples by name and labels.
std::map<std::string, double> samples_of(const std::string& text) {
    std::map<std::string, double> samples;
    for (const std::string_view line : split(text, '\n')) {
        if (line.empty() || line.front() == '#') continue;
        const std::size_t space = line.rfind(' ');
        const std::string name(line.substr(0, space));
        EXPECT_TRUE(samples.emplace(name, std::stod(std::string(line.substr(space + 1)))).second)
            << name << " is there twice";
    }
    return samples;
}

TEST(PrometheusText, EveryMetricIsThatOfTheSteps) {
    constexpr std::size_t ranks = 3;
    report::PrometheusMetrics metrics(ranks, {});
    std::map<std::string, double> want;
    for (std::uint64_t first = 0; first < 12; first += 4) {
        const auto steps = some_steps(first, 4, ranks);
        metrics.steps(steps);
        for (const train::StepRecord& step : steps) {
            const auto values = report::metric_values(step);
            for (std::size_t m = 0; m < report::metric_count; ++m) {
                const report::MetricInfo& metric = report::metric_catalogue()[m];
                double& value = want[report::prometheus_name(metric) + "{rank=\"" +
                                     std::to_string(step.rank) + "\"}"];
                value = metric.momentary() ? values[m] : value + values[m];
            }
        }
    }
    const auto got = samples_of(metrics.text());
    EXPECT_EQ(want.size(), report::metric_count * ranks);
    for (const auto& [name, value] : want) {
        ASSERT_TRUE(got.contains(name)) << name;
        EXPECT_NEAR(got.at(name), value, 1e-6 * (1 + value)) << name;
    }
}

TEST(PrometheusText, BytesByOwnerAddUp) {
    report::PrometheusMetrics metrics(2, {});
    metrics.steps(some_steps(0, 3, 2));
    const auto got = samples_of(metrics.text());
    // Of every step, 100 x step + owner.
    EXPECT_EQ(got.at("rudder_owner_bytes_total{rank=\"0\",owner=\"0\"}"), 300);
    EXPECT_EQ(got.at("rudder_owner_bytes_total{rank=\"0\",owner=\"1\"}"), 303);
    report::PrometheusMetrics wide(40, {});
    wide.steps(some_steps(0, 1, 40));
    EXPECT_THAT(wide.text(), testing::Not(testing::HasSubstr("rudder_owner_bytes_total{")))
        << "a matrix of so many ranks would be too much";
}

TEST(PrometheusText, RanksThatTheRunDoesNotHaveAreLeftOut) {
    report::PrometheusMetrics metrics(1, {});
    metrics.steps(some_steps(0, 2, 3));
    metrics.steps({});
    EXPECT_THAT(metrics.text(), testing::Not(testing::HasSubstr("rank=\"1\"")));
    EXPECT_EQ(samples_of(metrics.text()).at("rudder_loss{rank=\"0\"}"), 1000);
}

TEST(PrometheusText, ThePolicyIsThatOfNow) {
    report::PrometheusMetrics metrics(1, {});
    metrics.steps(some_steps(0, 1, 1, "window:16"));
    metrics.steps(some_steps(1, 1, 1, "lru"));
    const std::string text = metrics.text();
    EXPECT_THAT(text, testing::HasSubstr("rudder_policy_info{rank=\"0\",policy=\"lru\"} 1\n"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("window:16")));
    metrics.steps(some_steps(2, 1, 1, ""));
    EXPECT_THAT(metrics.text(), testing::Not(testing::HasSubstr("rudder_policy_info{")));
}

TEST(PrometheusText, LabelsAreEscapedAndNothingElse) {
    EXPECT_EQ(report::prometheus_escape("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
    EXPECT_EQ(report::prometheus_escape("{},= \u00e4"), "{},= \u00e4");
    EXPECT_EQ(report::prometheus_escape(""), "");
}

}  // namespace
}  // namespace rudder::test
