// The catalogue of metrics: names are unique and fit the tools that read them.
#include "report/catalogue.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <gmock/gmock.h>

namespace rudder {
namespace {

TEST(Catalogue, NamesAreUniqueAndFound) {
    std::set<std::string_view> paths;
    for (const report::MetricInfo& metric : report::metric_catalogue()) {
        EXPECT_TRUE(paths.insert(metric.path).second) << metric.path;
        EXPECT_EQ(report::metric_catalogue()[report::metric_index(metric.path)].path, metric.path);
        EXPECT_FALSE(metric.help.empty());
        EXPECT_NE(metric.help.back(), '.');
    }
}

TEST(Catalogue, NamesForOtherTools) {
    const auto& hit = report::metric_catalogue()[report::metric_index("rows.hit")];
    EXPECT_EQ(report::tensorboard_tag(hit), "rows/hit");
    EXPECT_EQ(report::prometheus_name(hit), "rudder_rows_hit_total");
    EXPECT_EQ(report::prometheus_name(report::metric_catalogue()[report::metric_index("loss")]),
              "rudder_loss");
    for (const report::MetricInfo& metric : report::metric_catalogue()) {
        EXPECT_TRUE(std::ranges::all_of(report::prometheus_name(metric), [](unsigned char c) {
            return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
        })) << metric.path;
    }
}

}  // namespace
}  // namespace rudder
