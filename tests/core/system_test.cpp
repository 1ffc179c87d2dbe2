// What the machine allows, as /proc and /sys of a made-up machine say.
#include "core/system.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/temp_dir.hpp"

namespace rudder {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

/// A machine of 64 GiB, of which 32 are free.
class MadeUpMachine : public testing::Test {
protected:
    void SetUp() override {
        put("proc/meminfo",
            "MemTotal:       67108864 kB\nMemFree: 1 kB\nMemAvailable:   33554432 kB\n");
    }
    void put(const fs::path& file, const std::string& text) const {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }
    void groups(const std::string& text) const { put("proc/self/cgroup", text); }
    void expect(double total, double available) const {
        const MemoryInfo info = memory_info(root_.path());
        EXPECT_EQ(info.total, static_cast<std::uint64_t>(total * static_cast<double>(gib)));
        EXPECT_EQ(info.available, static_cast<std::uint64_t>(available * static_cast<double>(gib)));
    }
    static std::string bytes(std::uint64_t in_gib) { return std::to_string(in_gib * gib) + "\n"; }

    test::TempDir root_;
};

TEST_F(MadeUpMachine, WithoutGroups) {
    expect(64, 32);
    groups("nonsense\n:\n::\n");
    expect(64, 32);
}

TEST_F(MadeUpMachine, TheSmallestLimitOfNestedGroupsCounts) {
    groups("0::/slurm/job_7/step_0\n");
    put("sys/fs/cgroup/memory.max", "max\n");
    put("sys/fs/cgroup/slurm/memory.max", bytes(48));
    put("sys/fs/cgroup/slurm/memory.current", bytes(20));
    put("sys/fs/cgroup/slurm/job_7/memory.max", bytes(16));
    put("sys/fs/cgroup/slurm/job_7/memory.current", bytes(6));
    put("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
    expect(16, 10);
    // What others in a group around have used is gone, however large our own share is.
    put("sys/fs/cgroup/slurm/memory.current", bytes(45));
    put("sys/fs/cgroup/slurm/job_7/memory.max", bytes(47));
    expect(47, 3);
}

TEST_F(MadeUpMachine, CachedFilesAreNotUsed) {
    groups("0::/box\n");
    put("sys/fs/cgroup/box/memory.max", bytes(8));
    put("sys/fs/cgroup/box/memory.current", bytes(7));
    put("sys/fs/cgroup/box/memory.stat",
        "anon 1\ninactive_anon 5\ninactive_file " + bytes(4) + "active_file 3\n");
    expect(8, 5);
}

TEST_F(MadeUpMachine, InAContainerTheMountIsTheGroup) {
    put("sys/fs/cgroup/memory.max", bytes(4));
    put("sys/fs/cgroup/memory.current", bytes(1));
    for (const char* place : {"0::/\n", "0::/docker/of/the/host\n", "0::/../../other\n"}) {
        groups(place);
        expect(4, 3);
    }
}

TEST_F(MadeUpMachine, Version1) {
    groups("5:cpu,cpuacct:/box\n4:memory:/slurm/job_7\n0::/ignored\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", bytes(20));
    put("sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", bytes(19));
    put("sys/fs/cgroup/memory/slurm/memory.stat",
        "inactive_file 7\ntotal_inactive_file " + bytes(9));
    put("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", bytes(12));
    put("sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes", bytes(2));
    expect(12, 10);
    put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "100000\n");
    put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
    EXPECT_EQ(usable_cores(root_.path()), 1);
}

TEST_F(MadeUpMachine, QuotasOfProcessorTime) {
    const int all = usable_cores(root_.path());
    EXPECT_EQ(all, usable_cores("/nowhere"));
    groups("0::/a/b\n");
    put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    EXPECT_EQ(usable_cores(root_.path()), all);
    put("sys/fs/cgroup/a/cpu.max", "120000 100000\n");
    EXPECT_EQ(usable_cores(root_.path()), 1);
}

TEST(Machine, HasMemory) {
    const MemoryInfo info = memory_info();
    EXPECT_GT(info.total, 0U);
    EXPECT_LE(info.available, info.total);
}

}  // namespace
}  // namespace rudder
