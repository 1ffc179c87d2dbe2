#include "rudder/buffer/replay.hpp"

#include <algorithm>
#include <cmath>

#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::buffer {

std::uint64_t BufferSize::of(std::uint64_t halo) const {
    if (!fraction) return rows;
    return static_cast<std::uint64_t>(std::floor(*fraction * static_cast<double>(halo)));
}

namespace {

/// A buffer that only a pilot changes.
class ReplayControl final : public BufferControl {
public:
    explicit ReplayControl(IdBuffer& buffer) : buffer_(buffer) {}
    [[nodiscard]] const PolicySpec& policy() const override { return buffer_.spec(); }
    [[nodiscard]] SlotId capacity() const override { return buffer_.residents().capacity(); }
    [[nodiscard]] SlotId slots() const override { return buffer_.residents().slots(); }
    void set_policy(const PolicySpec& spec) override { buffer_.set_policy(spec); }
    void set_capacity(SlotId rows) override { buffer_.set_capacity(std::min(rows, slots())); }
    [[nodiscard]] const IdBuffer& buffer() const override { return buffer_; }

private:
    IdBuffer& buffer_;
};

/// Publishes the steps of a trace as far ahead as anyone wants to see.
class ReplayedSteps {
public:
    ReplayedSteps(const HostTrace& trace, IdBuffer& buffer, BufferPilot* pilot)
        : trace_(trace), buffer_(buffer), pilot_(pilot) {}

    /// `step` counts from 0.
    void publish_for(std::uint64_t step) {
        // Asked every time: the policy may have changed.
        const std::uint64_t ahead =
            std::max(buffer_.horizon(), pilot_ == nullptr ? 0 : pilot_->horizon());
        const std::uint64_t first = trace_.header().first_step;
        for (; published_ < trace_.steps() && published_ - step <= ahead; ++published_) {
            buffer_.publish(first + published_, trace_.step(published_));
            if (pilot_ != nullptr) pilot_->published(first + published_, trace_.step(published_));
        }
    }

private:
    const HostTrace& trace_;
    IdBuffer& buffer_;
    BufferPilot* pilot_;
    std::uint64_t published_ = 0;
};

}  // namespace

RowAccounts replay_host(const HostTrace& trace, const PolicySpec& policy, std::uint64_t capacity,
                        BufferPilot* pilot) {
    // No policy can hold more rows than there are, and slots cost memory.
    const auto slots = static_cast<SlotId>(std::min(capacity, trace.distinct()));
    const std::uint64_t first = trace.header().first_step;
    IdBuffer buffer(policy, trace.facts(), slots, slots, first);
    ReplayControl control(buffer);
    ReplayedSteps steps(trace, buffer, pilot);
    if (pilot != nullptr) pilot->start(trace.facts(), control);
    for (std::uint64_t step = 0; step < trace.steps(); ++step) {
        steps.publish_for(step);
        if (pilot == nullptr) {
            buffer.advance();
            continue;
        }
        pilot->prepare(first + step);
        const Decision decision = pilot->before(first + step, control);
        steps.publish_for(step);  // another policy may want to see more
        buffer.advance(decision);
        pilot->after(first + step, buffer.accounts());
    }
    return buffer.accounts();
}

std::vector<ReplayResult> replay(const Trace& trace, std::span<const ReplayCase> cases) {
    // Each pair of case and host is work of its own; sums are in the order of the hosts.
    std::vector<RowAccounts> parts(cases.size() * trace.size());
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
