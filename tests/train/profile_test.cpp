// The profile of an epoch: recorded, and without effect on the run.
#include "core/profile.hpp"

#include <map>

#include <gtest/gtest.h>

#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

class Profile : public testing::Test {
protected:
    struct Keeper final : train::TrainObserver {
        void profile(const RunProfile& profile) override { kept.push_back(profile); }
        std::vector<RunProfile> kept;
    };

    const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
    std::vector<RunProfile> profiles(const train::TrainOptions& options) {
        train::Trainer trainer(comm::Communicator::local(), data(), options);
        Keeper keeper;
        const train::TrainResult result = trainer.run(keeper);
        EXPECT_EQ(result.digest, train_alone(data(), small_options()).result.digest);
        steps_ = result.steps_per_epoch;
        return keeper.kept;
    }
    static train::TrainOptions profiled(std::uint32_t epoch) {
        train::TrainOptions options = small_options();
        options.profile = true;
        options.profile_epoch = epoch;
        return options;
    }
    std::uint64_t steps_ = 0;
};

TEST_F(Profile, HasEveryStepOfItsEpochOnceAndChangesNothing) {
    for (const std::uint32_t epoch : {0U, 1U, 2U}) {
        const auto kept = profiles(profiled(epoch));
        ASSERT_EQ(kept.size(), 1U);
        const std::uint32_t of = epoch == 0 ? 1 : epoch - 1;
        EXPECT_EQ(kept[0].epoch, of);
        ASSERT_EQ(kept[0].ranks.size(), 1U);
        const RankProfile& rank = kept[0].ranks[0];
        std::map<std::uint64_t, int> computed;
        for (const ThreadProfile& thread : rank.threads) {
            for (const ProfileEvent& event : thread.events)
                if (rank.names[event.name] == "computing") ++computed[event.step];
        }
        ASSERT_EQ(computed.size(), steps_);
        for (const auto& [step, count] : computed) {
            EXPECT_EQ(step / steps_, of);
            EXPECT_EQ(count, 1);
        }
        EXPECT_EQ(rank.dropped, 0U);
    }
}

TEST_F(Profile, IsRefusedWhereTimeIsSimulated) {
    try {
        static_cast<void>(train_simulated(data(), profiled(1), {.ranks = 2}));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
    }
}

}  // namespace
}  // namespace rudder::test
