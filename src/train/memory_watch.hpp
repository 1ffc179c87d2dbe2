// Watches what the ranks of a host have in memory during a run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "rudder/comm/communicator.hpp"

namespace rudder::train {

struct MemoryBounds {
    std::uint64_t limit = 0;  ///< bytes that a host may hold; 0: nobody watches
    std::uint64_t own = 0;    ///< bytes of each rank that do not count
};
/// With --memory, what runs need by plan counts, and not what the program is itself (`start`: what
/// it held before it read any data); without, all that the machine has may be used.
[[nodiscard]] MemoryBounds memory_bounds(std::uint64_t memory, std::uint64_t start);

/// More is held than is good for a run.
struct MemoryShortage {
    std::uint64_t used = 0;  ///< bytes of all ranks of the host, as the bounds count them
    std::uint64_t limit = 0;
};

/// One rank's side of it: ranks leave what they hold where all of their host see it. Reading takes
/// a while, so it is done so seldom that it costs a two-hundredth of the time at most.
class MemoryWatch {
public:
    /// Bytes that this process holds.
    using Meter = std::function<std::uint64_t()>;

    /// Collective over the host.
    MemoryWatch(const comm::Communicator& comm, const MemoryBounds& bounds, Meter meter);

    /// After a step: whether to make something smaller, now. Once it was said, what becomes of it
    /// is waited for.
    [[nodiscard]] std::optional<MemoryShortage> look();

private:
    using Word = std::atomic<std::uint64_t>;

    [[nodiscard]] std::uint64_t used() const;

    MemoryBounds bounds_;
    Meter meter_;
    std::size_t rank_;                        ///< on its host
    std::shared_ptr<std::span<Word>> board_;  ///< by rank of the host: bytes
    double next_ = 0;                         ///< reading, in seconds of the executor
    std::uint64_t steps_ = 0;
    std::uint64_t quiet_until_ = 0;  ///< the step
};

}  // namespace rudder::train
