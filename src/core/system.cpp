#include "system.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>

#include <cpuid.h>
#include <sched.h>
#include <sys/resource.h>

#include "rudder/core/text.hpp"

namespace rudder {

namespace {

/// The first number after `key` in a /proc file of "key: number kB" lines, in bytes.
std::uint64_t proc_bytes(const char* file, std::string_view key) {
    std::ifstream in(file);
    std::string line;
    while (std::getline(in, line)) {
        if (!std::string_view(line).starts_with(key)) continue;
        const std::size_t digit = line.find_first_of("0123456789");
        if (digit == std::string::npos) return 0;
        return std::stoull(line.substr(digit)) * 1024;
    }
    return 0;
}

/// A limit of the control group; "max" or no file means none.
std::uint64_t group_value(const char* file) {
    std::ifstream in(file);
    std::string word;
    in >> word;
    return parse_u64(word).value_or(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace

MemoryInfo memory_info() {
    MemoryInfo info{proc_bytes("/proc/meminfo", "MemTotal:"),
                    proc_bytes("/proc/meminfo", "MemAvailable:")};
    const std::uint64_t limit = group_value("/sys/fs/cgroup/memory.max");
    if (limit < info.total) {
        const std::uint64_t used = group_value("/sys/fs/cgroup/memory.current");
        info.total = limit;
        info.available = std::min(info.available, limit > used ? limit - used : 0);
    }
    return info;
}

std::uint64_t peak_resident_bytes() {
    return proc_bytes("/proc/self/status", "VmHWM:");
}

double process_cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    int cores = ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    std::ifstream in("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (in >> quota >> period && period > 0) {
        if (const auto share = parse_double(quota)) {
            cores = std::min(cores, std::max(1, static_cast<int>(std::lround(*share / period))));
        }
    }
    return std::max(1, cores);
}

CpuInfo cpu_info() {
    CpuInfo info;
    std::ifstream in("/proc/cpuinfo");
    std::string line;
    while (info.model.empty() && std::getline(in, line)) {
        if (line.starts_with("model name")) {
            const std::size_t colon = line.find(": ");
            if (colon != std::string::npos) info.model = line.substr(colon + 2);
        }
    }
    __builtin_cpu_init();
    const auto add = [&info](bool present, const char* name) {
        if (present) info.features.emplace_back(name);
    };
    add(__builtin_cpu_supports("avx2") != 0, "avx2");
    add(__builtin_cpu_supports("fma") != 0, "fma");
    add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
    add(__builtin_cpu_supports("avx512bw") != 0, "avx512bw");
    add(__builtin_cpu_supports("avx512vl") != 0, "avx512vl");
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) add((a & (1U << 5)) != 0, "avx512_bf16");
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) add((d & (1U << 24)) != 0, "amx_tile");
    return info;
}

}  // namespace rudder
