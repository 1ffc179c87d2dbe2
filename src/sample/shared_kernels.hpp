// The loops of shared numbers, for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared_numbers.hpp"

namespace rudder::sample {

/// How the parts that differ between instruction sets are called.
struct SharedKernels {
    std::size_t (*collect)(const SharedNumbers::Turn&, const std::uint32_t*, std::size_t,
                           std::uint32_t, std::uint32_t*, std::uint32_t*) noexcept;
    bool (*keep)(const std::uint32_t*, const std::uint32_t*, std::size_t, std::size_t,
                 std::uint32_t*) noexcept;
    std::size_t (*drop)(std::uint32_t, std::uint32_t, std::uint32_t*, std::uint32_t*,
                        std::size_t) noexcept;
    bool (*few)(const SharedNumbers::Turn&, const std::uint32_t*, std::size_t, std::size_t,
                std::uint32_t*) noexcept;
};

[[nodiscard]] const SharedKernels& kernels_of(DrawCode code) noexcept;

}  // namespace rudder::sample
