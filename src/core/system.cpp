#include "system.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include <cpuid.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rudder/core/text.hpp"

namespace rudder {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t most_memory = std::uint64_t{1} << 60;

/// A file of the system. Memory that runs out while it is read is told: a stream would end there.
std::ifstream opened(const fs::path& file) {
    std::ifstream in(file);
    in.exceptions(std::ios::badbit);
    return in;
}

/// The first number of the line that starts with `key`.
std::optional<std::uint64_t> number_of(const fs::path& file, std::string_view key) {
    std::ifstream in = opened(file);
    std::string line;
    while (std::getline(in, line)) {
        if (!std::string_view(line).starts_with(key)) continue;
        const std::size_t digit = line.find_first_of("0123456789", key.size());
        if (digit == std::string::npos) return std::nullopt;
        const std::size_t end = line.find_first_not_of("0123456789", digit);
        return parse_u64(std::string_view(line).substr(digit, end - digit));
    }
    return std::nullopt;
}

/// The same of a /proc file of "key: number kB" lines, in bytes.
std::uint64_t proc_bytes(const fs::path& file, std::string_view key) {
    return number_of(file, key).value_or(0) * 1024;
}

/// A number of a control group; "max" or no file means none.
std::uint64_t group_value(const fs::path& file) {
    std::ifstream in = opened(file);
    std::string word;
    in >> word;
    return parse_u64(word).value_or(no_limit);
}

/// A control group of this process: where its files are mounted, and its place there.
struct ControlGroup {
    fs::path mount;
    fs::path place;
};

/// The group of a controller (version 1), or of all (version 2: no controller). A line of
/// /proc/self/cgroup is "4:memory:/slurm/job_7", and "0::/user.slice" in version 2.
std::optional<ControlGroup> group_of(const fs::path& root, std::string_view controller) {
    std::ifstream in = opened(root / "proc/self/cgroup");
    std::string line;
    while (std::getline(in, line)) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string names = line.substr(first + 1, second - first - 1);
        const auto words = split(names, ',');
        const bool found = controller.empty() ? names.empty()
                                              : std::ranges::find(words, controller) != words.end();
        if (!found) continue;
        const fs::path mount = root / "sys/fs/cgroup";
        return ControlGroup{controller.empty() ? mount : mount / controller,
                            fs::path(line.substr(second + 1)).relative_path()};
    }
    return std::nullopt;
}

/// Calls `look` with the folder of a group and of all groups it is in. In a container the place may
/// be one that is not mounted here: then the mount itself is the group.
template <class Look>
void for_each_group(const fs::path& root, std::string_view controller, Look&& look) {
    const auto group = group_of(root, controller);
    if (!group) return;
    std::error_code code;
    fs::path place = group->place;
    if (place.native().starts_with("..") || !fs::is_directory(group->mount / place, code))
        place.clear();
    for (;; place = place.parent_path()) {
        look(group->mount / place);
        if (place.empty()) return;
    }
}

struct GroupFiles {
    std::string_view limit;
    std::string_view used;
    std::string_view reclaimable;  ///< key in memory.stat
};

/// What a group allows, and what is left of it.
void limit_by(MemoryInfo& info, const fs::path& group, const GroupFiles& files) {
    const std::uint64_t limit = group_value(group / files.limit);
    if (limit > most_memory) return;  // version 1 has a large number for none
    const std::uint64_t all = group_value(group / files.used);
    const std::uint64_t cached = number_of(group / "memory.stat", files.reclaimable).value_or(0);
    const std::uint64_t used = all == no_limit ? 0 : all - std::min(all, cached);
    info.total = std::min(info.total, limit);
    info.available = std::min(info.available, limit > used ? limit - used : 0);
}

}  // namespace

MemoryInfo memory_info(const fs::path& root) {
    MemoryInfo info{proc_bytes(root / "proc/meminfo", "MemTotal:"),
                    proc_bytes(root / "proc/meminfo", "MemAvailable:")};
    for_each_group(root, "", [&](const fs::path& group) {
        limit_by(info, group, {"memory.max", "memory.current", "inactive_file "});
    });
    for_each_group(root, "memory", [&](const fs::path& group) {
        limit_by(info, group,
                 {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "});
    });
    return info;
}

std::uint64_t peak_resident_bytes() {
    return proc_bytes("/proc/self/status", "VmHWM:");
}

std::uint64_t process_memory() {
    return proc_bytes("/proc/self/smaps_rollup", "Pss:");
}

void give_pages_back(std::span<std::byte> memory) noexcept {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::size_t head = (page - address % page) % page;
    if (memory.size() < head + page) return;
    const std::size_t whole = (memory.size() - head) / page * page;
    ::madvise(memory.data() + head, whole, MADV_DONTNEED);  // where it fails, nothing is lost
}

double process_cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int usable_cores(const fs::path& root) {
    cpu_set_t set;
    CPU_ZERO(&set);
    int cores = ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    const auto limit = [&](const std::string& quota, double period) {
        const auto time = parse_double(quota);  // "max", or -1: no quota
        if (!time || !(*time > 0) || !(period > 0)) return;
        cores = std::min(cores, std::max(1, static_cast<int>(std::lround(*time / period))));
    };
    std::string quota;
    double period = 0;
    for_each_group(root, "", [&](const fs::path& group) {
        if (std::ifstream(group / "cpu.max") >> quota >> period) limit(quota, period);
    });
    for_each_group(root, "cpu", [&](const fs::path& group) {
        if (std::ifstream(group / "cpu.cfs_quota_us") >> quota &&
            std::ifstream(group / "cpu.cfs_period_us") >> period)
            limit(quota, period);
    });
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
