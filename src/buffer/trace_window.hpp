// The steps of a trace in order, numbered as they are asked for and kept while they are of use.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "rudder/buffer/trace.hpp"
#include "rudder/core/check.hpp"

namespace rudder::buffer {

/// Holds as many steps as lie between the first that is not forgotten and the last asked for.
class TraceWindow {
public:
    /// The trace must outlive it.
    explicit TraceWindow(const HostTrace& trace) : trace_(&trace) {}

    /// The rows of a step, counted from 0; valid until it is forgotten.
    [[nodiscard]] std::span<const RowKey> step(std::uint64_t i) {
        RUDDER_CHECK(i >= first_);
        while (first_ + steps_.size() <= i) {
            if (spare_.empty()) spare_.emplace_back();
            steps_.push_back(std::move(spare_.back()));
            spare_.pop_back();
            trace_->step(first_ + steps_.size() - 1, steps_.back());
        }
        return steps_[i - first_];
    }
    /// Steps before this one are not asked for any more.
    void forget_before(std::uint64_t i) {
        for (; first_ < i && !steps_.empty(); ++first_) {
            spare_.push_back(std::move(steps_.front()));
            steps_.pop_front();
        }
    }

private:
    const HostTrace* trace_;
    std::uint64_t first_ = 0;
    std::deque<std::vector<RowKey>> steps_;
    std::vector<std::vector<RowKey>> spare_;
};

}  // namespace rudder::buffer
