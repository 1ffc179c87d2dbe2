// Power that fails while checkpoints are written: every call that changes the disk is taken down,
// and the disk is looked at as it may be after each of them.
#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/packed.hpp"
#include "rudder/core/text.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/checkpoints/checkpoint_keeper.hpp"
#include "train/made_checkpoint.hpp"

#include "disk_log.hpp"
#include "disk_model.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

/// A run that writes checkpoints, its best ones among them, as a keeper does.
std::vector<DiskOp> recorded_run(const fs::path& run) {
    const DiskLog log(run);
    train::CheckpointKeeper keeper(run, 2);
    const auto write = [&](std::uint64_t step) {
        keeper.write(made_checkpoint(step));
        keeper.wait();
        DiskLog::mark(fmt::format("step {}", step));
    };
    const auto best = [&](std::uint64_t step) {
        EXPECT_TRUE(keeper.best(step));
        DiskLog::mark(fmt::format("best {}", step));
    };
    write(1);
    write(2);
    best(2);
    write(4);
    write(4);  // a resumed run writes its first one again
    write(5);
    keeper.write_best(made_checkpoint(7));
    keeper.wait();
    DiskLog::mark("best 7");
    write(8);
    best(8);
    write(10);
    write(11);
    return log.ops();
}

/// The last step that a mark of this kind names.
std::optional<std::uint64_t> promised(std::span<const DiskOp> ops, const std::string& kind) {
    std::optional<std::uint64_t> last;
    for (const DiskOp& op : ops) {
        if (op.kind == DiskOp::Kind::mark && op.path.starts_with(kind))
            last = parse_u64(op.path.substr(kind.size() + 1));
    }
    return last;
}

void expect_whole(const fs::path& folder) {
    const auto step = train::checkpoint_step(folder).value_or(0);
    const train::Checkpoint sent = made_checkpoint(step);
    const train::Checkpoint found = train::read_checkpoint(folder);
    EXPECT_EQ(found.weights, sent.weights) << folder;
    EXPECT_EQ(packed(found.state), packed(sent.state)) << folder;
}

/// Whatever is there can be read, and nothing that was promised is missing.
void expect_kept_promises(const fs::path& run, std::span<const DiskOp> done) {
    const auto all = train::list_checkpoints(run);
    for (const fs::path& folder : all)
        expect_whole(folder);
    if (const auto step = promised(done, "step")) {
        ASSERT_FALSE(all.empty()) << "step " << *step << " was written";
        EXPECT_GE(train::checkpoint_step(all.back()).value_or(0), *step);
    }
    const auto best = train::best_checkpoint(run);
    if (best) expect_whole(*best);
    if (const auto step = promised(done, "best")) {
        ASSERT_TRUE(best) << "the best was " << *step;
        EXPECT_GE(train::checkpoint_step(*best).value_or(0), *step);
    }
}

class PowerCut : public testing::Test {
protected:
    void expect_promises(std::size_t cut, Unflushed unflushed, std::uint64_t seed) const {
        const auto done = std::span(ops_).first(cut);
        SCOPED_TRACE(fmt::format("after {} of {} calls (the next: {}), unflushed {}, seed {}", cut,
                                 ops_.size(), cut < ops_.size() ? ops_[cut].path : "none",
                                 static_cast<int>(unflushed), seed));
        const TempDir disk;
        DiskModel(done).write(disk / "run", unflushed, seed);
        try {
            expect_kept_promises(disk / "run", done);
        } catch (const Error& error) {
            ADD_FAILURE() << error.what();
        }
    }

    const TempDir folder_;
    const std::vector<DiskOp> ops_ = recorded_run(folder_.path());
};

TEST_F(PowerCut, TheReplayIsWhatTheDiskHolds) {
    const TempDir disk;
    DiskModel(ops_).write(disk / "run", Unflushed::there, 0);
    const auto listing = [](const fs::path& folder) {
        std::vector<std::string> names;
        for (const auto& entry : fs::recursive_directory_iterator(folder))
            names.push_back(entry.path().lexically_relative(folder).string());
        std::ranges::sort(names);
        return names;
    };
    EXPECT_EQ(listing(disk / "run"), listing(folder_.path()));
    EXPECT_GT(ops_.size(), 100U);
    expect_kept_promises(disk / "run", ops_);
}

TEST_F(PowerCut, LeavesEveryCheckpointWholeAndKeepsWhatWasPromised) {
    using enum Unflushed;
    for (std::size_t cut = 0; cut <= ops_.size() && !HasFailure(); ++cut) {
        for (const Unflushed unflushed : {there, lost, names, zeros, bytes})
            expect_promises(cut, unflushed, 0);
        for (std::uint64_t seed = 0; seed < 4; ++seed)
            expect_promises(cut, random, seed * 1000 + cut);
    }
}

/// The model is not kinder than disks are: without its flushes the writer fails.
TEST_F(PowerCut, WritersThatDoNotFlushAreFoundOut) {
    std::vector<DiskOp> careless = ops_;
    std::erase_if(careless, [](const DiskOp& op) { return op.kind == DiskOp::Kind::flush; });
    std::size_t broken = 0;
    for (std::size_t cut = 0; cut <= careless.size(); cut += 5) {
        const auto done = std::span(careless).first(cut);
        const TempDir disk;
        DiskModel(done).write(disk / "run", Unflushed::names, 0);
        try {
            for (const fs::path& each : train::list_checkpoints(disk / "run"))
                static_cast<void>(train::read_checkpoint(each));
        } catch (const Error&) {
            ++broken;
        }
    }
    EXPECT_GT(broken, 5U);
}

}  // namespace
}  // namespace rudder::test
