// What the store's kernels, each compiled for several instruction sets, have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#ifdef __clang__
#define RUDDER_AVX512 "avx512f,avx512bw,avx512vl,avx512dq"
#else
#define RUDDER_AVX512 "avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512"
#endif
#define RUDDER_INLINE [[gnu::always_inline]] inline

namespace rudder::store {

/// Those that this machine can run: "baseline", "avx2", "avx512"; the widest last.
[[nodiscard]] std::vector<std::string_view> row_instruction_sets();

/// How many rows ahead memory is asked for, and how much of each: long rows are followed by the
/// hardware itself.
inline constexpr std::size_t rows_ahead = 6;
inline constexpr std::size_t bytes_ahead = 1024;
inline constexpr std::size_t cache_line = 64;

RUDDER_INLINE void fetch_ahead(const std::byte* row, std::size_t bytes) {
    const std::size_t last = std::min(bytes, bytes_ahead);
    for (std::size_t at = 0; at < last; at += cache_line)
        __builtin_prefetch(row + at);
    if (last > 0) __builtin_prefetch(row + last - 1);  // rows need not begin with a line
}

}  // namespace rudder::store
