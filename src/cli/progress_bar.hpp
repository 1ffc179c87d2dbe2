// A progress bar on the terminal's last line.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "rudder/core/progress.hpp"

namespace rudder::cli {

/// Draws "placing edges  [=====>     ]  52 %" on standard error, at most ten times a second. The
/// line is erased when a phase ends, so that nothing of it stays in a log.
class ProgressBar final : public Progress {
public:
    ~ProgressBar() override;
    void phase(std::string_view name, std::uint64_t total) override;
    void advance(std::uint64_t units) override;
    void done() override;

private:
    using Clock = std::chrono::steady_clock;
    void draw();
    void erase();

    std::mutex mutex_;
    std::string name_;
    std::uint64_t total_ = 0;
    std::atomic<std::uint64_t> units_{0};
    std::atomic<Clock::rep> next_draw_{0};
    bool drawn_ = false;
};

/// A bar if standard error is a terminal and nobody asked for quiet, else a silent one.
[[nodiscard]] std::unique_ptr<Progress> make_progress(bool quiet);

}  // namespace rudder::cli
