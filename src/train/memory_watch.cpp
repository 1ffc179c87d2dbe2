#include "memory_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/executor/executor.hpp"
#include "core/system.hpp"

namespace rudder::train {

namespace {

/// Of the limit: beyond it something is made smaller.
constexpr double full = 0.95;
/// Of one rank: stacks, buffers of MPI and the like, which no plan counts.
constexpr std::uint64_t uncounted = std::uint64_t{64} << 20;
/// Seconds between two readings, at least; and how many times as long as one takes.
constexpr double least_pause = 0.5;
constexpr double pause_factor = 200;
/// Steps until memory that was given back shows.
constexpr std::uint64_t steps_to_show = 16;

double seconds_now() {
    return std::chrono::duration<double>(Executor::current().now()).count();
}

}  // namespace

MemoryWatch::MemoryWatch(const comm::Communicator& comm, const MemoryBounds& bounds, Meter meter)
    : bounds_(bounds),
      meter_(std::move(meter)),
      rank_(static_cast<std::size_t>(comm.host().rank())) {
    if (bounds_.limit == 0) return;
    board_ = comm.host().share<Word>(static_cast<std::size_t>(comm.host().size()));
}

std::uint64_t MemoryWatch::used() const {
    std::uint64_t all = 0;
    for (const Word& bytes : *board_)
        all += bytes.load(std::memory_order_relaxed);
    return all;
}

std::optional<MemoryShortage> MemoryWatch::look() {
    if (bounds_.limit == 0) return std::nullopt;
    ++steps_;
    const double begin = seconds_now();
    if (begin < next_) return std::nullopt;
    const std::uint64_t held = meter_();
    (*board_)[rank_].store(held - std::min(held, bounds_.own), std::memory_order_relaxed);
    const double end = seconds_now();
    next_ = end + std::max(least_pause, (end - begin) * pause_factor);
    const std::uint64_t all = used();
    const bool enough = static_cast<double>(all) <= full * static_cast<double>(bounds_.limit);
    if (enough || steps_ < quiet_until_) return std::nullopt;
    quiet_until_ = steps_ + steps_to_show;
    return MemoryShortage{all, bounds_.limit};
}

MemoryBounds memory_bounds(std::uint64_t memory, std::uint64_t start) {
    // Simulated ranks share one process, and its memory says nothing of any of them.
    if (Executor::current().simulated()) return {};
    if (memory != 0) return {memory, start + uncounted};
    return {memory_info().total, 0};
}

}  // namespace rudder::train
