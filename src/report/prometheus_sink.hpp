// Metrics of a run over HTTP, for Prometheus to fetch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "prometheus_metrics.hpp"
#include "sink.hpp"

namespace rudder::report {

struct PrometheusOptions {
    std::string address = "127.0.0.1";  ///< of this machine, as a number
    std::uint16_t port = 0;             ///< 0: any that is free
    std::size_t ranks = 1;
    std::vector<std::pair<std::string, std::string>> info;  ///< labels of rudder_run_info
    RunPlan plan{};                                         ///< what GET /status begins with
    unsigned int patience = 10;  ///< seconds with a client that says nothing
};

/// A usage Error where this is no address of IPv4 or IPv6, written as a number.
void check_address(const std::string& address);

/// Answers GET /metrics, /status (how the run stands, as JSON) and /healthz from a thread of its
/// own, which a slow reader does not hold up.
class PrometheusSink final : public MetricSink {
public:
    /// Listens; an Error that names address and port where that cannot be.
    explicit PrometheusSink(const PrometheusOptions& options);
    ~PrometheusSink() override;

    [[nodiscard]] std::string_view name() const override { return "Prometheus"; }
    void steps(std::span<const train::StepRecord> steps) override { metrics_.steps(steps); }
    void epoch(const train::EpochRecord& epoch) override { metrics_.epoch(epoch); }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        metrics_.decisions(decisions);
    }
    [[nodiscard]] std::uint64_t cpu_nanoseconds() const override;

    /// Where it is found, such as http://127.0.0.1:9400/metrics.
    [[nodiscard]] const std::string& url() const noexcept;
    /// For whoever takes the steps.
    [[nodiscard]] const std::shared_ptr<RunProgress>& progress() const noexcept {
        return metrics_.progress();
    }

private:
    struct Server;
    PrometheusMetrics metrics_;
    std::unique_ptr<Server> server_;
};

}  // namespace rudder::report
