// Data-parallel loops over fixed chunks (oneTBB behind them, not in this header).
#pragma once

#include <cstddef>

#include "rudder/core/function_ref.hpp"

namespace rudder {

/// One chunk of a loop: elements [begin, end), the index-th chunk from the start.
struct Chunk {
    std::size_t index;
    std::size_t begin;
    std::size_t end;
};

/// How many chunks of `size` elements cover `count`.
[[nodiscard]] constexpr std::size_t chunk_count(std::size_t count, std::size_t size) noexcept {
    return count / size + (count % size != 0 ? 1 : 0);
}

/// Calls `body` once for each chunk of [0, count), on all threads. The chunks depend on `count` and
/// `size` alone, so per-chunk results added in chunk order are the same for any number of threads.
/// An exception of one chunk cancels the rest and is rethrown here; so does an interrupt, which
/// is looked at before each chunk.
void parallel_chunks(std::size_t count, std::size_t size, FunctionRef<void(const Chunk&)> body);

/// The number of threads loops run on, and the way to set it (0: all cores this process may use).
[[nodiscard]] int thread_count() noexcept;
void set_thread_count(int threads);

}  // namespace rudder
