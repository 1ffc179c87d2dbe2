// docs/metrics.md lists every metric as the program has it.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "report/catalogue.hpp"
#include "report/prometheus_metrics.hpp"

namespace rudder::test {
namespace {

std::string page() {
    std::ifstream in(RUDDER_SOURCE_DIR "/docs/metrics.md");
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

TEST(MetricsPage, HasTheCatalogue) {
    std::string table =
        "| `metrics.jsonl` | TensorBoard | Prometheus | what it is |\n| --- | --- | --- | --- |\n";
    for (const report::MetricInfo& metric : report::metric_catalogue()) {
        table += fmt::format("| `{}` | `{}` | `{}` | {} |\n", metric.path,
                             report::tensorboard_tag(metric), report::prometheus_name(metric),
                             metric.help);
    }
    EXPECT_THAT(page(), testing::HasSubstr(table));
}

TEST(MetricsPage, HasTheEpochs) {
    std::string table = "| TensorBoard | Prometheus | what it is |\n| --- | --- | --- |\n";
    for (const report::EpochMetric& metric : report::epoch_metrics()) {
        table += fmt::format("| `{}` | `{}{}{}{}` | {} |\n", metric.tag, metric.name,
                             metric.labels.empty() ? "" : "{", metric.labels,
                             metric.labels.empty() ? "" : "}", metric.help);
    }
    EXPECT_THAT(page(), testing::HasSubstr(table));
}

TEST(MetricsPage, HasTheRest) {
    std::string table = "| Prometheus | type | labels | what it is |\n| --- | --- | --- | --- |\n";
    for (const report::PrometheusInfo& metric : report::further_prometheus_metrics()) {
        table += fmt::format("| `{}` | {} | {} | {} |\n", metric.name, metric.type, metric.labels,
                             metric.help);
    }
    EXPECT_THAT(page(), testing::HasSubstr(table));
}

}  // namespace
}  // namespace rudder::test
