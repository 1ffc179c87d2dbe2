// What a rank does by a machine profile.
#include "run/simulate/machine_speed.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "core/machine_profile.hpp"
#include "rudder/core/error.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {

namespace {

using run::machine_speed;
using run::MachineSpeed;
using sample::Sampler;

/// Rates that are told apart, with one thread and with five.
MachineProfile profile() {
    MachineProfile made;
    made.machine = {.name = "here", .processor = "a", .cores = 5, .memory = 1'000'000};
    made.compute = {{1, 1e6, 2e6, 3e9, 4e9, 5e9, 6e6, 1.5}, {5, 5e6, 6e6, 7e9, 8e9, 9e9, 10e6, 2}};
    return made;
}

LinkRates link(double latency_us, double rate, double messages) {
    return {.latency_us = latency_us,
            .bytes_per_second = rate,
            .messages_per_second = messages,
            .all_bytes_per_second = rate / 2};
}

class MachineSpeedTest : public testing::Test {
protected:
    std::string write(const MachineProfile& made) {
        const auto file = folder_ / "profile.toml";
        std::ofstream(file) << machine_profile_toml(made);
        return file;
    }
    TempDir folder_;
};

TEST_F(MachineSpeedTest, RatesAreThoseOfTheThreads) {
    const std::string file = write(profile());
    const MachineSpeed speed = machine_speed(file, 3, Sampler::plain);
    EXPECT_EQ(speed.memory, 1'000'000U);
    // In the middle between one thread and five; whoever samples is one thread.
    EXPECT_DOUBLE_EQ(speed.compute.edges, 2e6);
    EXPECT_DOUBLE_EQ(speed.compute.gather_bytes, 5e9);
    EXPECT_DOUBLE_EQ(speed.compute.flops, 6e9);
    EXPECT_DOUBLE_EQ(speed.compute.aggregate_bytes, 7e9);
    EXPECT_DOUBLE_EQ(speed.compute.policy_rows, 8e6);
    EXPECT_DOUBLE_EQ(speed.compute.step_factor, 1.75);
    EXPECT_DOUBLE_EQ(machine_speed(file, 9, Sampler::plain).compute.flops, 8e9);
    EXPECT_DOUBLE_EQ(machine_speed(file, 3, Sampler::shared).compute.edges, 1e6);
}

TEST_F(MachineSpeedTest, WithoutANetworkMessagesTakeNoTime) {
    const MachineSpeed speed = machine_speed(write(profile()), 1, Sampler::plain);
    EXPECT_FALSE(speed.link.active());
    EXPECT_EQ(speed.compute.messages, 0);
}

TEST_F(MachineSpeedTest, TheLinkIsTheOneBetweenHostsWhereItIsKnown) {
    MachineProfile made = profile();
    made.network = {.hosts = {"a"},
                    .ranks = {2},
                    .carrier = "sockets",
                    .barrier_us = 1,
                    .within = link(1, 5e9, 1e6)};
    MachineSpeed speed = machine_speed(write(made), 1, Sampler::plain);
    EXPECT_EQ(speed.link.delay, std::chrono::microseconds(1));
    EXPECT_EQ(speed.link.bytes_per_second, 5e9);
    made.network->hosts = {"a", "b"};
    made.network->ranks = {1, 1};
    made.network->between = link(30.5, 1e9, 2e5);
    speed = machine_speed(write(made), 1, Sampler::plain);
    EXPECT_EQ(speed.link.delay, std::chrono::nanoseconds(30'500));
    EXPECT_EQ(speed.link.bytes_per_second, 1e9);
    EXPECT_EQ(speed.compute.messages, 2e5);
}

TEST_F(MachineSpeedTest, BuiltInProfilesAreThere) {
    for (const std::string_view name : built_in_profiles()) {
        const MachineSpeed speed =
            machine_speed("built-in:" + std::string(name), 16, Sampler::shared);
        EXPECT_TRUE(speed.link.active()) << name;
        EXPECT_GT(speed.compute.flops, 0) << name;
        EXPECT_GT(speed.memory, 0U) << name;
    }
    EXPECT_THROW(static_cast<void>(machine_speed("built-in:none", 1, Sampler::plain)), Error);
}

}  // namespace

}  // namespace rudder::test
