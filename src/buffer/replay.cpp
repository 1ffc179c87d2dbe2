#include "rudder/buffer/replay.hpp"

#include <algorithm>
#include <cmath>

#include "rudder/core/parallel.hpp"

#include "floor.hpp"
#include "guarded_buffer.hpp"
#include "trace_window.hpp"

namespace rudder::buffer {

std::uint64_t BufferSize::of(std::uint64_t halo) const {
    if (!fraction) return rows;
    return static_cast<std::uint64_t>(std::floor(*fraction * static_cast<double>(halo)));
}

namespace {

/// Publishes the steps of a trace as far ahead as anyone wants to see.
class ReplayedSteps {
public:
    ReplayedSteps(const HostTrace& trace, GuardedBuffer& buffer, BufferPilot* pilot)
        : trace_(trace), steps_(trace), buffer_(buffer), pilot_(pilot) {}

    /// `step` counts from 0; those before it were taken.
    void publish_for(std::uint64_t step) {
        steps_.forget_before(step);
        // Asked every time: the policy may have changed.
        const std::uint64_t ahead =
            std::max(buffer_.horizon(), pilot_ == nullptr ? 0 : pilot_->horizon());
        const std::uint64_t first = trace_.header().first_step;
        for (; published_ < trace_.steps() && published_ - step <= ahead; ++published_) {
            const std::span<const RowKey> rows = steps_.step(published_);
            buffer_.publish(first + published_, rows);
            if (pilot_ != nullptr) pilot_->published(first + published_, rows);
        }
    }

private:
    const HostTrace& trace_;
    TraceWindow steps_;
    GuardedBuffer& buffer_;
    BufferPilot* pilot_;
    std::uint64_t published_ = 0;
};

}  // namespace

namespace {

/// Takes a step as the pilot says.
void steered_step(BufferPilot& pilot, GuardedBuffer& buffer, ReplayedSteps& steps,
                  std::uint64_t number, std::uint64_t first) {
    pilot.prepare(number);
    const PilotOrder order = pilot.before(number, buffer.ids());
    for (const BufferChange& change : order.changes)
        buffer.change(change);
    steps.publish_for(number - first);  // another policy may want to see more
    buffer.advance(order.decision);
    if (const auto what = buffer.take_overruled()) pilot.overruled(number, *what);
    if (buffer.guarded()) pilot.accounted(buffer.account());
    pilot.after(number, buffer.ids().accounts());
}

}  // namespace

Rows replay_host(const HostTrace& trace, const PolicySpec& policy, std::uint64_t capacity,
                 BufferPilot* pilot) {
    if (pilot == nullptr && policy.name() == "optimal") return floor_rows(trace, capacity);
    // No policy can hold more rows than there are, and slots cost memory.
    const auto slots = static_cast<SlotId>(std::min(capacity, trace.distinct()));
    const std::uint64_t first = trace.header().first_step;
    GuardedBuffer buffer(policy, trace.facts(), slots, slots, first);
    ReplayedSteps steps(trace, buffer, pilot);
    if (pilot != nullptr) {
        pilot->start(trace.facts(), buffer.ids());
        if (const auto terms = pilot->guard_terms()) buffer.guard(*terms);
    }
    for (std::uint64_t step = 0; step < trace.steps(); ++step) {
        steps.publish_for(step);
        if (pilot == nullptr) {
            buffer.advance();
        } else {
            steered_step(*pilot, buffer, steps, first + step, first);
        }
    }
    return buffer.ids().accounts();
}

std::vector<ReplayResult> replay(const Trace& trace, std::span<const ReplayCase> cases) {
    // Each pair of case and host is work of its own; sums are in the order of the hosts.
    std::vector<Rows> parts(cases.size() * trace.size());
    parallel_chunks(parts.size(), 1, [&](const Chunk& chunk) {
        const ReplayCase& one = cases[chunk.index / trace.size()];
        const HostTrace& host = *trace[chunk.index % trace.size()];
        parts[chunk.index] = replay_host(host, one.policy, one.size.of(host.halo()));
    });
    std::vector<ReplayResult> results(cases.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        ReplayResult& result = results[i / trace.size()];
        result.capacity += cases[i / trace.size()].size.of(trace[i % trace.size()]->halo());
        result.rows += parts[i];
    }
    return results;
}

}  // namespace rudder::buffer
