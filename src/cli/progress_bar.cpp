#include "progress_bar.hpp"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace rudder::cli {

namespace {

constexpr std::size_t bar_width = 30;
constexpr auto pause = std::chrono::milliseconds(100);

}  // namespace

ProgressBar::~ProgressBar() {
    erase();
}

void ProgressBar::phase(std::string_view name, std::uint64_t total) {
    const std::scoped_lock lock(mutex_);
    name_ = name;
    total_ = total;
    units_ = 0;
    next_draw_ = (Clock::now() + pause).time_since_epoch().count();
}

void ProgressBar::advance(std::uint64_t units) {
    units_.fetch_add(units, std::memory_order_relaxed);
    const Clock::rep now = Clock::now().time_since_epoch().count();
    Clock::rep due = next_draw_.load(std::memory_order_relaxed);
    if (now < due) return;
    // One thread wins the right to draw; the others go on working.
    if (!next_draw_.compare_exchange_strong(due, now + Clock::duration(pause).count())) return;
    const std::scoped_lock lock(mutex_);
    draw();
}

void ProgressBar::done() {
    const std::scoped_lock lock(mutex_);
    erase();
}

void ProgressBar::draw() {
    const std::uint64_t units = units_.load(std::memory_order_relaxed);
    std::string line = fmt::format("\r\x1b[K{}", name_);
    if (total_ > 0) {
        const double share =
            std::min(1.0, static_cast<double>(units) / static_cast<double>(total_));
        const auto filled = static_cast<std::size_t>(share * bar_width);
        line += fmt::format("  [{}{}] {:3.0f} %", std::string(filled, '='),
                            std::string(bar_width - filled, ' '), share * 100);
    }
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
}

void ProgressBar::erase() {
    if (!drawn_) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    drawn_ = false;
}

std::unique_ptr<Progress> make_progress(bool quiet) {
    if (quiet || ::isatty(STDERR_FILENO) == 0) return std::make_unique<Progress>();
    return std::make_unique<ProgressBar>();
}

}  // namespace rudder::cli
