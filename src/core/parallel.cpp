#include "rudder/core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>

#include "core/executor/executor.hpp"
#include "rudder/core/check.hpp"

#include "cpu_meter.hpp"
#include "interrupt.hpp"
#include "system.hpp"

namespace rudder {

namespace {

/// Asked once: the answer is in files.
int cores_here() {
    static const int cores = usable_cores();
    return cores;
}

/// The limit on oneTBB's threads now in force. Made when first needed, so that a test may ask for
/// more threads than there are cores.
struct ThreadLimit {
    std::mutex mutex;
    std::unique_ptr<tbb::global_control> control;
    std::atomic<int> threads{0};

    void set(int count) {
        const std::scoped_lock lock(mutex);
        const int limit = count > 0 ? count : cores_here();
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

#ifdef __SANITIZE_THREAD__

/// Debian's oneTBB is not compiled with the thread sanitizer, which then sees neither its fences
/// nor the races between our chunks. So in that build loops run on plain threads; nested ones in
/// place.
void run_all(std::size_t chunks, FunctionRef<void(std::size_t)> run) {
    thread_local bool inside = false;
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
        const bool outer = std::exchange(inside, true);
        try {
            for (std::size_t i = next++; i < chunks; i = next++) {
                run(i);
            }
        } catch (...) {
            next = chunks;
            const std::scoped_lock lock(mutex);
            if (!failure) failure = std::current_exception();
        }
        inside = outer;
    };
    std::vector<std::thread> threads;
    for (int i = 1; !inside && i < thread_count(); ++i) {
        threads.emplace_back(work);
    }
    work();
    for (std::thread& thread : threads) {
        thread.join();
    }
    if (failure) std::rethrow_exception(failure);
}

#else

void run_all(std::size_t chunks, FunctionRef<void(std::size_t)> run) {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, chunks, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
            for (std::size_t i = range.begin(); i != range.end(); ++i)
                run(i);
        },
        tbb::simple_partitioner());
}

#endif

}  // namespace

void set_thread_count(int threads) {
    thread_limit().set(threads);
}

int thread_count() noexcept {
    const int set = thread_limit().threads.load(std::memory_order_relaxed);
    return set > 0 ? set : cores_here();
}

void parallel_chunks(std::size_t count, std::size_t size, FunctionRef<void(const Chunk&)> body) {
    RUDDER_CHECK(size > 0);
    const std::size_t chunks = chunk_count(count, size);
    const CpuMeter* meter = CpuMeter::current();
    const auto run = [&](std::size_t index) {
        throw_if_interrupted();
        const CpuMeter::Helper helper(meter);
        const NoWaitScope no_wait("a data-parallel loop");
        const std::size_t begin = index * size;
        body(Chunk{index, begin, std::min(begin + size, count)});
    };
    if (chunks == 1) return run(0);
    run_all(chunks, run);
}

}  // namespace rudder
