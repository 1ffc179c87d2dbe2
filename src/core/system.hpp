// What the machine has: memory, cores, instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace rudder {

/// Memory in bytes, as the kernel and the control groups of this process allow: its own and all
/// that this one is in, of either version. Pages of files that could be given back count as free.
struct MemoryInfo {
    std::uint64_t total;
    std::uint64_t available;
};
/// `root` is where /proc and /sys lie (another one for tests).
[[nodiscard]] MemoryInfo memory_info(const std::filesystem::path& root = "/");

/// The largest resident size this process has had, in bytes.
[[nodiscard]] std::uint64_t peak_resident_bytes();

/// Memory of this process at present, in bytes: pages that it shares with others count by its share
/// of them. 0 where the kernel does not tell. Takes time in proportion to it: about 10 ms per GiB.
[[nodiscard]] std::uint64_t process_memory();
/// Gives the whole pages of some memory of ours back to the kernel; what was there is lost.
void give_pages_back(std::span<std::byte> memory) noexcept;

/// CPU time of this process so far, user and system.
[[nodiscard]] double process_cpu_seconds();

/// Cores this process may use (affinity mask and control groups).
[[nodiscard]] int usable_cores(const std::filesystem::path& root = "/");

/// The processor's name, and those of its instruction sets that matter here.
struct CpuInfo {
    std::string model;
    std::vector<std::string> features;
};
[[nodiscard]] CpuInfo cpu_info();

}  // namespace rudder
