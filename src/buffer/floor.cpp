#include "floor.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::buffer {

std::uint64_t FloorCounter::step(std::span<const RowKey> rows, RowKey known) {
    RUDDER_CHECK(now_ + std::uint64_t{1} < std::numeric_limits<Step>::max());
    if (known > last_use_.size()) last_use_.resize(known, 0);
    if (now_ > 0) append_end();
    wanted_from_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + lead < rows.size()) __builtin_prefetch(&last_use_[rows[i + lead]], 1);
        Step& last = last_use_[rows[i]];
        if (last > open_) {  // one more than a step that is not settled
            End& end = end_of(last - 1);
            if (end.wanted++ == 0) wanted_from_.push_back(last - 1);
        }
        last = now_ + 1;
    }
    // In any order: rows with the same next use have equal claims.
    std::uint64_t hits = 0;
    for (const Step from : wanted_from_)
        hits += hold(from, std::exchange(end_of(from).wanted, 0));
    forget_settled();
    ++now_;
    fetched_ += rows.size() - hits;
    return rows.size() - hits;
}

FloorCounter::Step FloorCounter::peak_of(Step step) noexcept {
    while (end_of(step).peak != step) {
        End& end = end_of(step);
        end.peak = end_of(end.peak).peak;
        step = end.peak;
    }
    return step;
}

void FloorCounter::append_end() {
    const Step last = now_ - 1;
    ends_.push_back({.peak = last, .before = last, .drop = 0, .wanted = 0});
    if (open_ == last) {
        first_peak_ = last;
        highest_ = 0;
    } else if (lowest_ == 0) {  // the last peak is no higher than this one
        End& before = end_of(last - 1);
        end_of(last).before = before.before;
        end_of(last).drop = before.drop;
        before.peak = last;
        if (first_peak_ == last - 1) first_peak_ = last;
    } else {
        end_of(last).before = last - 1;
        end_of(last).drop = static_cast<std::uint32_t>(lowest_);
    }
    lowest_ = 0;
}

std::uint64_t FloorCounter::hold(Step from, std::uint64_t count) {
    std::uint64_t held = 0;
    while (held < count && from >= open_) {
        const Step peak = peak_of(from);
        if (peak == first_peak_) {
            const std::uint64_t more = std::min(count - held, capacity_ - highest_);
            highest_ += more;
            lowest_ += more;
            held += more;
            if (highest_ == capacity_) settle(peak);
            continue;
        }
        End& end = end_of(peak);
        const std::uint64_t more = std::min<std::uint64_t>(count - held, end.drop);
        end.drop -= static_cast<std::uint32_t>(more);
        lowest_ += more;
        held += more;
        if (end.drop != 0) continue;
        const Step before = end.before;  // as high as this one: no peak any more
        end.before = end_of(before).before;
        end.drop = end_of(before).drop;
        end_of(before).peak = peak;
        if (before == first_peak_) first_peak_ = peak;
    }
    return held;
}

void FloorCounter::settle(Step full) {
    open_ = full + 1;
    if (open_ == now_) return;
    first_peak_ = peak_of(open_);
    highest_ -= end_of(first_peak_).drop;
}

void FloorCounter::forget_settled() {
    const std::size_t settled = open_ - first_end_;
    if (settled < 1024 || settled * 2 < ends_.size()) return;
    ends_.erase(ends_.begin(), ends_.begin() + static_cast<std::ptrdiff_t>(settled));
    first_end_ = open_;
}

std::uint64_t FloorCounter::bytes() const noexcept {
    return last_use_.capacity() * sizeof(Step) + ends_.capacity() * sizeof(End) +
           wanted_from_.capacity() * sizeof(Step);
}

Rows floor_rows(const HostTrace& trace, std::uint64_t capacity,
                const std::function<void(std::uint64_t)>& each) {
    FloorCounter counter(capacity);
    std::vector<RowKey> rows;
    Rows counts;
    for (std::uint64_t s = 0; s < trace.steps(); ++s) {
        trace.step(s, rows);
        const std::uint64_t fetched = counter.step(rows, static_cast<RowKey>(trace.distinct()));
        ++counts.steps;
        counts.needed += rows.size();
        counts.demand += fetched;
        counts.hit += rows.size() - fetched;
        if (each) each(fetched);
    }
    return counts;
}

FloorSteps floor_steps(const Trace& trace) {
    FloorSteps floor;
    floor.first_step = trace.front()->header().first_step;
    for (const auto& host : trace) {
        if (host->header().capacity == 0) {
            throw usage_error("the trace does not say how large the buffer was", "trace",
                              "train with a policy that has a buffer");
        }
    }
    std::vector<std::vector<double>> hosts(trace.size());
    parallel_chunks(trace.size(), 1, [&](const Chunk& chunk) {
        const HostTrace& host = *trace[chunk.index];
        std::vector<double>& rows = hosts[chunk.index];
        static_cast<void>(floor_rows(host, host.header().capacity, [&](std::uint64_t fetched) {
            rows.push_back(static_cast<double>(fetched));
        }));
    });
    for (const std::vector<double>& rows : hosts) {
        floor.rows.resize(std::max(floor.rows.size(), rows.size()));
        for (std::size_t i = 0; i < rows.size(); ++i)
            floor.rows[i] += rows[i];
    }
    return floor;
}

}  // namespace rudder::buffer
