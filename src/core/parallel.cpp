#include "rudder/core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "rudder/core/check.hpp"
#include "rudder/core/executor/executor.hpp"
#include "rudder/core/interrupt.hpp"
#include "rudder/core/system.hpp"

namespace rudder {

namespace {

/// The limit on oneTBB's threads now in force. Made when first needed, so that a test may ask for
/// more threads than there are cores.
struct ThreadLimit {
    std::mutex mutex;
    std::unique_ptr<tbb::global_control> control;
    std::atomic<int> threads{0};

    void set(int count) {
        const std::scoped_lock lock(mutex);
        const int limit = count > 0 ? count : usable_cores();
        control.reset();
        control = std::make_unique<tbb::global_control>(
            tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(limit));
        threads.store(limit, std::memory_order_relaxed);
    }
};

ThreadLimit& thread_limit() {
    static ThreadLimit limit;
    return limit;
}

}  // namespace

void set_thread_count(int threads) {
    thread_limit().set(threads);
}

int thread_count() noexcept {
    const int set = thread_limit().threads.load(std::memory_order_relaxed);
    return set > 0 ? set : usable_cores();
}

void parallel_chunks(std::size_t count, std::size_t size, FunctionRef<void(const Chunk&)> body) {
    RUDDER_CHECK(size > 0);
    const std::size_t chunks = chunk_count(count, size);
    const auto run = [&](std::size_t index) {
        throw_if_interrupted();
        const NoWaitScope no_wait("a data-parallel loop");
        const std::size_t begin = index * size;
        body(Chunk{index, begin, std::min(begin + size, count)});
    };
    if (chunks == 1) return run(0);
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, chunks, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
            for (std::size_t i = range.begin(); i != range.end(); ++i)
                run(i);
        },
        tbb::simple_partitioner());
}

}  // namespace rudder
