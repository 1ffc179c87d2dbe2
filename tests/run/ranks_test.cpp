// Verbs on ranks, as far as no other rank is needed: alone, and what is refused before a start.
#include "rudder/run/ranks.hpp"

#include <cstdlib>
#include <map>
#include <optional>

#include <gmock/gmock.h>

#include "rudder/core/parallel.hpp"

#include "support/refusal.hpp"

namespace rudder::run {
namespace {

using test::refusal_of;
using Arguments = std::vector<std::string>;

/// Variables that tell of launchers: away during a test, and then as they were.
class RanksAlone : public testing::Test {
protected:
    void SetUp() override {
        for (const char* name :
             {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMI_RANK", "RUDDER_LAUNCHED",
              "SLURM_STEP_NUM_TASKS", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
            const char* value = std::getenv(name);
            before_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
            ::unsetenv(name);
        }
    }
    void TearDown() override {
        for (const auto& [name, value] : before_) {
            if (value) {
                ::setenv(name.c_str(), value->c_str(), 1);
            } else {
                ::unsetenv(name.c_str());
            }
        }
    }
    /// What the verb gives; its body returns 7.
    int run(const RankOptions& options) {
        return run_ranked(options, {}, [this](const comm::Communicator& comm) {
            ++bodies_;
            EXPECT_EQ(comm.size(), 1);
            EXPECT_EQ(comm.rank(), 0);
            return 7;
        });
    }

    int bodies_ = 0;

private:
    std::map<std::string, std::optional<std::string>> before_;
};

TEST_F(RanksAlone, TheBodyRunsOnOneRank) {
    EXPECT_EQ(run({}), 7);
    EXPECT_EQ(run({.link = "1ms,1gbit", .parts = 4}), 7);
    EXPECT_EQ(bodies_, 2);
}

TEST_F(RanksAlone, WhatItThrowsComesThrough) {
    const auto body = [](const comm::Communicator&) -> int {
        throw input_error("bad", "there", "mend it");
    };
    const auto refusal = refusal_of([&] { static_cast<void>(run_ranked({}, {}, body)); });
    EXPECT_EQ(refusal.kind, ErrorKind::input);
    EXPECT_EQ(refusal.where, "there");
}

TEST_F(RanksAlone, ABadLinkIsRefusedFirst) {
    for (const char* link : {"fast", "1ms", "1ms,", ",1gbit", "1ms,0gbit", "1ms,1gbit,2"}) {
        RankOptions options;
        options.link = link;
        const auto refusal = refusal_of([&] { run(options); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage) << link;
        EXPECT_EQ(refusal.where, "--link");
    }
    EXPECT_EQ(bodies_, 0);
}

TEST_F(RanksAlone, RanksThatDoNotDivideThePartsAreNotStarted) {
    for (const int ranks : {3, 5, 8}) {
        const auto refusal = refusal_of([&] { run({.ranks = ranks, .parts = 4}); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        EXPECT_EQ(refusal.problem, std::to_string(ranks) + " ranks cannot share 4 parts evenly");
        EXPECT_THAT(refusal.remedy, testing::HasSubstr("use 1, 2, 4 ranks"));
    }
    EXPECT_EQ(bodies_, 0);
    EXPECT_EQ(std::getenv("RUDDER_LAUNCHED"), nullptr);
}

TEST_F(RanksAlone, ALauncherWithinALauncherIsRefused) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMI_RANK"}) {
        ::setenv(name, "2", 1);
        const auto refusal = refusal_of([&] { run({.ranks = 2}); });
        EXPECT_EQ(refusal.where, "--ranks") << name;
        EXPECT_THAT(refusal.remedy, testing::HasSubstr("leave --ranks out"));
        ::unsetenv(name);
    }
    for (const char* name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
        EXPECT_FALSE(is_rank()) << "without " << name;
        ::setenv(name, "2", 1);
    }
    EXPECT_TRUE(is_rank()) << "of torchrun";
    EXPECT_EQ(refusal_of([&] { run({.ranks = 2}); }).where, "--ranks");
    EXPECT_EQ(bodies_, 0);
}

TEST_F(RanksAlone, TasksThatDoNotKnowOfEachOtherAreRefused) {
    ::setenv("SLURM_STEP_NUM_TASKS", "16", 1);
    const auto refusal = refusal_of([&] { run({}); });
    EXPECT_EQ(refusal.problem, "srun started 16 tasks that do not know of each other");
    EXPECT_EQ(bodies_, 0);
    for (const char* harmless : {"1", "0", "", "many"}) {
        ::setenv("SLURM_STEP_NUM_TASKS", harmless, 1);
        EXPECT_EQ(run({}), 7) << harmless;
    }
}

TEST_F(RanksAlone, TheCommandLineIsAsItWasTyped) {
    const Arguments words{"train", "parts", "--epochs", "3"};
    EXPECT_FALSE(is_launched_rank());
    EXPECT_EQ(typed_arguments(words, 1), words);
    ::setenv("RUDDER_LAUNCHED", "1", 1);
    EXPECT_FALSE(is_launched_rank()) << "no launcher's rank";
    EXPECT_EQ(typed_arguments(words, 1), words);
    ::setenv("PMIX_RANK", "0", 1);
    EXPECT_TRUE(is_launched_rank());
    EXPECT_EQ(typed_arguments(words, 4),
              (Arguments{"train", "parts", "--epochs", "3", "--ranks", "4"}));
    ::unsetenv("RUDDER_LAUNCHED");
    EXPECT_FALSE(is_launched_rank()) << "mpirun was typed";
    EXPECT_EQ(typed_arguments(words, 4), words);
}

TEST_F(RanksAlone, OneRankKeepsAllCores) {
    set_thread_count(3);
    share_cores(comm::Communicator::local(), 0);
    EXPECT_EQ(thread_count(), 3);
    share_cores(comm::Communicator::local(), 2);
    EXPECT_EQ(thread_count(), 3);
    set_thread_count(0);
}

}  // namespace
}  // namespace rudder::run
