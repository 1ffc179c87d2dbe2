// Observers of simulated runs: what is told is handed to sinks, which may write files.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "report/json_lines_sink.hpp"
#include "report/sink_runner.hpp"
#include "report/tensorboard_sink.hpp"
#include "rudder/train/observer.hpp"
#include "train/checkpoints/checkpoint.hpp"

namespace rudder::test {

/// Counts the lines that sinks are handed, on their own task.
class CountingSink final : public report::MetricSink {
public:
    explicit CountingSink(std::uint64_t& lines) : lines_(lines) {}
    [[nodiscard]] std::string_view name() const noexcept override { return "counting"; }
    void steps(std::span<const train::StepRecord> steps) override { lines_ += steps.size(); }

private:
    std::uint64_t& lines_;
};

/// Hands everything to sinks, as a run of the program does; with `folder` also to those that write
/// files there, which go on after the last checkpoint.
class ToSinks final : public train::TrainObserver {
public:
    ToSinks(std::uint64_t& lines, const std::optional<std::filesystem::path>& folder) {
        std::vector<std::unique_ptr<report::MetricSink>> sinks;
        sinks.push_back(std::make_unique<CountingSink>(lines));
        if (folder) add_files(*folder, sinks);
        sinks_.emplace(std::move(sinks));
    }
    void records(std::span<const train::StepRecord> records) override { sinks_->steps(records); }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        sinks_->decisions(decisions);
    }
    void epoch_done(const train::EpochRecord& record, std::uint32_t) override {
        sinks_->epoch(record);
    }
    [[nodiscard]] std::uint64_t metrics_bytes() const override {
        if (metrics_bytes_ == nullptr) return 0;
        sinks_->flush();
        return *metrics_bytes_;
    }

private:
    void add_files(const std::filesystem::path& folder,
                   std::vector<std::unique_ptr<report::MetricSink>>& sinks) {
        std::filesystem::create_directories(folder);
        train::RunState start;
        if (const auto all = train::list_checkpoints(folder); !all.empty())
            start = train::read_run_state(all.back());
        auto lines = std::make_unique<report::JsonLinesSink>(folder, start.metrics_bytes);
        metrics_bytes_ = lines->metrics_bytes();
        sinks.push_back(std::move(lines));
        sinks.push_back(std::make_unique<report::TensorBoardSink>(folder, start.step));
    }

    std::shared_ptr<const std::atomic<std::uint64_t>> metrics_bytes_;
    mutable std::optional<report::SinkRunner> sinks_;
};

}  // namespace rudder::test
