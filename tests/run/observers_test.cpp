// Several watchers of one run, and the one that writes profile.json.
#include <gmock/gmock.h>

#include "report/frames.hpp"
#include "report/profile.hpp"
#include "report/sink.hpp"
#include "rudder/core/file.hpp"
#include "run/profile_file.hpp"
#include "run/train_observers.hpp"

#include "support/temp_dir.hpp"

namespace rudder::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Notes every call, with the name of who was called.
class Watcher final : public train::TrainObserver {
public:
    Watcher(std::string name, std::uint64_t bytes, std::vector<std::string>& notes)
        : name_(std::move(name)), bytes_(bytes), notes_(notes) {}

    void step_done(const train::StepRecord& record, std::uint64_t steps) override {
        note("step", record.step, steps);
    }
    void records(std::span<const train::StepRecord> records) override {
        note("records", records.size(), 0);
    }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        note("decisions", decisions.size(), 0);
    }
    void epoch_done(const train::EpochRecord& record, std::uint32_t epochs) override {
        note("epoch", record.epoch, epochs);
    }
    void profile(const RunProfile& profile) override { note("profile", profile.epoch, 0); }
    [[nodiscard]] std::uint64_t metrics_bytes() const override { return bytes_; }

private:
    void note(const std::string& what, std::uint64_t a, std::uint64_t b) {
        notes_.push_back(name_ + " " + what + " " + std::to_string(a) + "/" + std::to_string(b));
    }
    std::string name_;
    std::uint64_t bytes_;
    std::vector<std::string>& notes_;
};

TEST(Observers, AllSeeEverythingInTheirOrder) {
    std::vector<std::string> notes;
    Watcher first("first", 0, notes);
    Watcher second("second", 512, notes);
    TrainObservers all;
    EXPECT_EQ(all.metrics_bytes(), 0U);
    const auto steps = test::some_steps(3, 2, 2);
    all.records(steps);
    EXPECT_TRUE(notes.empty()) << "nobody watches yet";
    all.add(first);
    all.add(second);
    all.step_done(steps.front(), 40);
    all.records(steps);
    all.decisions(std::vector<steer::DecisionRecord>(3));
    all.epoch_done(test::some_epoch(1, 10), 5);
    all.profile({.epoch = 2, .ranks = {}});
    EXPECT_THAT(notes, ElementsAre("first step 3/40", "second step 3/40", "first records 4/0",
                                   "second records 4/0", "first decisions 3/0",
                                   "second decisions 3/0", "first epoch 1/5", "second epoch 1/5",
                                   "first profile 2/0", "second profile 2/0"));
    EXPECT_EQ(all.metrics_bytes(), 512U) << "of the one that writes it";
}

RunProfile profile_with(std::uint64_t dropped_first, std::uint64_t dropped_second) {
    RunProfile profile;
    profile.ranks.resize(2);
    profile.ranks[0].dropped = dropped_first;
    profile.ranks[1].dropped = dropped_second;
    return profile;
}

std::string said_by(ProfileFile& file, const RunProfile& profile) {
    testing::internal::CaptureStderr();
    file.profile(profile);
    return testing::internal::GetCapturedStderr();
}

TEST(ProfileFileOfARun, IsWrittenInItsFolder) {
    const test::TempDir folder;
    ProfileFile file(folder.path());
    EXPECT_TRUE(folder.empty());
    EXPECT_EQ(said_by(file, profile_with(0, 0)), "");
    EXPECT_EQ(read_text(folder / "profile.json", 1U << 20U),
              report::trace_events(profile_with(0, 0)));
}

TEST(ProfileFileOfARun, SaysWhatItLacks) {
    const test::TempDir folder;
    ProfileFile file(folder.path());
    EXPECT_THAT(said_by(file, profile_with(1200, 34)), HasSubstr("the profile lacks 1,234 events"));
    EXPECT_TRUE(std::filesystem::exists(folder / "profile.json"));
}

TEST(ProfileFileOfARun, ThatCannotBeWrittenEndsNothing) {
    const test::TempDir folder;
    write_text(folder / "file", "");
    ProfileFile file(folder / "file");
    const std::string said = said_by(file, profile_with(5, 0));
    EXPECT_THAT(said, testing::StartsWith("rudder: warning: no profile: "));
    EXPECT_THAT(said, HasSubstr("training continues"));
    EXPECT_THAT(said, testing::Not(HasSubstr("lacks")));
}

}  // namespace
}  // namespace rudder::run
