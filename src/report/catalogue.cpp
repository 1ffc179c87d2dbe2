#include "catalogue.hpp"

#include <algorithm>
#include <vector>

#include "rudder/core/check.hpp"

namespace rudder::report {

namespace {

std::vector<MetricInfo> make_catalogue() {
    std::vector<MetricInfo> all;
    for_each_metric({}, [&](std::string_view group, const auto& f, auto /*value*/) {
        std::string path(group);
        if (!path.empty()) path += '.';
        all.push_back({path.append(f.name), f.kind, f.help});
    });
    RUDDER_CHECK(all.size() == metric_count);
    return all;
}

std::string with(std::string_view path, char separator) {
    std::string name(path);
    std::ranges::replace(name, '.', separator);
    return name;
}

}  // namespace

std::span<const MetricInfo> metric_catalogue() noexcept {
    static const std::vector<MetricInfo> catalogue = make_catalogue();
    return catalogue;
}

std::array<double, metric_count> metric_values(const train::StepRecord& record) {
    std::array<double, metric_count> values;
    std::size_t next = 0;
    for_each_metric(record, [&](std::string_view /*group*/, const auto& /*field*/, auto value) {
        values[next++] = static_cast<double>(value);
    });
    return values;
}

std::size_t metric_index(std::string_view path) {
    const auto catalogue = metric_catalogue();
    const auto found = std::ranges::find(catalogue, path, &MetricInfo::path);
    RUDDER_CHECK(found != catalogue.end());
    return static_cast<std::size_t>(found - catalogue.begin());
}

std::string tensorboard_tag(const MetricInfo& metric) {
    return with(metric.path, '/');
}

std::string prometheus_name(const MetricInfo& metric) {
    return "rudder_" + with(metric.path, '_') + (metric.momentary() ? "" : "_total");
}

namespace {

using Value = std::optional<double>;

constexpr std::string_view accuracy_help = "Share of right answers in the last epoch";

constexpr std::array metrics{
    EpochMetric{"accuracy/train", "rudder_accuracy", "set=\"train\"", accuracy_help,
                [](const train::EpochRecord& e) { return e.train(); }},
    EpochMetric{"accuracy/valid", "rudder_accuracy", "set=\"valid\"", accuracy_help,
                [](const train::EpochRecord& e) { return e.valid(); }},
    EpochMetric{"accuracy/test", "rudder_accuracy", "set=\"test\"", accuracy_help,
                [](const train::EpochRecord& e) { return e.test(); }},
    EpochMetric{"epoch/loss", "rudder_epoch_loss", "", "Mean loss of the last epoch's steps",
                [](const train::EpochRecord& e) { return Value(e.loss); }},
    EpochMetric{"epoch/seconds", "rudder_epoch_seconds", "",
                "Time of the last epoch, evaluation excluded",
                [](const train::EpochRecord& e) { return Value(e.seconds); }},
    EpochMetric{"epoch/evaluation_seconds", "rudder_epoch_evaluation_seconds", "",
                "Time that training waited for the last epoch's evaluation",
                [](const train::EpochRecord& e) { return Value(e.evaluation_seconds); }},
};

}  // namespace

std::span<const EpochMetric> epoch_metrics() noexcept {
    return metrics;
}

}  // namespace rudder::report
