// One agent of a job at a time tries something on the clock.
#include "train/steps/clock_turns.hpp"

#include <array>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "steer/scripted_agent.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

TEST(ClockTurns, GoRoundAmongThoseWhoWantIt) {
    train::ClockTurns turns;
    const auto after = [&](std::array<float, 4> wishes) {
        turns.update(wishes);
        return turns.holder();
    };
    using Holder = std::optional<std::size_t>;
    EXPECT_EQ(after({0, 0, 0, 0}), std::nullopt);
    EXPECT_EQ(after({0, 1, 0, 1}), Holder(1));
    EXPECT_EQ(after({1, 1, 1, 1}), Holder(1)) << "who has it keeps it";
    EXPECT_EQ(after({1, 0, 0, 1}), Holder(3)) << "the next after it, not the first";
    EXPECT_EQ(after({1, 1, 0, 0}), Holder(0));
    EXPECT_EQ(after({0, 0, 0, 0}), std::nullopt);
    EXPECT_EQ(after({1, 0, 0, 1}), Holder(3)) << "who had it last comes last";
    EXPECT_EQ(after({1, 0, 0, 0}), Holder(0));
    EXPECT_EQ(after({0, 0, 0, 0}), std::nullopt);
    EXPECT_EQ(after({1, 0, 0, 0}), Holder(0)) << "nobody else wants it";
}

/// Four hosts whose agents all want it for a while and then not: each has it at times, no two at
/// once. An agent is asked before its step, up to so many steps ahead of training.
TEST(ClockTurns, OfHostsThatTrainDoNotOverlap) {
    constexpr std::uint64_t ahead = 4;
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    std::map<std::uint64_t, std::set<std::uint64_t>> had;  // steps, by what tells hosts apart
    train::TrainOptions options = small_options();
    options.policy = "window:4";
    options.epochs = 40;
    options.in_flight = 2;
    options.steer.mode = steer::AgentMode::sync;
    options.steer.agent = scripted("scripted-knobs", [&](const steer::Observation& seen) {
        const std::uint64_t host = seen.halo * 1000003 + seen.sizes.own_vertices;
        if (seen.clock_turn) had[host].insert(seen.step);
        steer::Answer said = answer(steer::Action::keep());
        said.wants_clock = (seen.step + host) % 40 < 30;
        return said;
    });
    comm::SimulatedCluster machines({.ranks = 4, .ranks_per_host = 1, .seed = 3});
    machines.run([&](const comm::Communicator& comm) {
        train::Trainer trainer(comm, data, options);
        train::TrainObserver nobody;
        static_cast<void>(trainer.run(nobody));
    });
    EXPECT_GE(had.size(), 3U);
    std::set<std::uint64_t> taken;
    for (const auto& [host, steps] : had) {
        for (const std::uint64_t step : steps) {
            if (!steps.contains(step + ahead) || !steps.contains(step - ahead)) continue;
            EXPECT_TRUE(taken.insert(step).second) << "two at step " << step;
        }
    }
    EXPECT_GT(taken.size(), 20U);
}

}  // namespace
}  // namespace rudder::test
