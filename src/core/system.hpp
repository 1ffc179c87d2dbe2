// What the machine has: memory, cores, instruction sets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rudder {

/// Memory in bytes, as the kernel and the control group of this process allow.
struct MemoryInfo {
    std::uint64_t total;
    std::uint64_t available;
};
[[nodiscard]] MemoryInfo memory_info();

/// The largest resident size this process has had, in bytes.
[[nodiscard]] std::uint64_t peak_resident_bytes();

/// CPU time of this process so far, user and system.
[[nodiscard]] double process_cpu_seconds();

/// Cores this process may use (affinity mask and control group).
[[nodiscard]] int usable_cores();

/// The processor's name, and those of its instruction sets that matter here.
struct CpuInfo {
    std::string model;
    std::vector<std::string> features;
};
[[nodiscard]] CpuInfo cpu_info();

}  // namespace rudder
