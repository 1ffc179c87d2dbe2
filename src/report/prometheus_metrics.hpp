// The numbers of a run as Prometheus reads them, and how it stands.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run_watch.hpp"
#include "sink.hpp"

namespace rudder::report {

/// How far the run is, told after every step; the rest of the numbers come later, many at once.
struct RunProgress {
    std::atomic<std::uint64_t> steps{0};  ///< done
    std::atomic<std::uint64_t> planned{0};
    std::atomic<double> loss{0};  ///< of the last
};

/// Metrics of Prometheus that are in no catalogue.
struct PrometheusInfo {
    std::string_view name;
    std::string_view type;    ///< counter or gauge
    std::string_view labels;  ///< their names
    std::string_view help;
};
[[nodiscard]] std::vector<PrometheusInfo> further_prometheus_metrics();

/// A value of a label with all that needs it escaped.
[[nodiscard]] std::string prometheus_escape(std::string_view value);

/// Adds up the steps of a run; counts are since its start. Any thread may call.
class PrometheusMetrics {
public:
    /// `info` are the labels of rudder_run_info.
    PrometheusMetrics(std::size_t ranks,
                      const std::vector<std::pair<std::string, std::string>>& info,
                      const RunPlan& plan = {});
    ~PrometheusMetrics();

    void steps(std::span<const train::StepRecord> steps);
    void epoch(const train::EpochRecord& epoch);
    void decisions(std::span<const steer::DecisionRecord> decisions);
    [[nodiscard]] const std::shared_ptr<RunProgress>& progress() const noexcept;

    /// All of them, in text exposition format 0.0.4.
    [[nodiscard]] std::string text() const;
    /// How the run stands, up to the last step.
    [[nodiscard]] Standing standing() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::report
