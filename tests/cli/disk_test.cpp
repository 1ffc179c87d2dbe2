// Disks that are full or may not be written: exit code 1, and nothing left.
#include <fmt/format.h>
#include <unistd.h>

#include "cli_support.hpp"

namespace rudder::test {
namespace {

/// Runs the program on a small disk of its own, mounted where no other process sees it.
class Disk : public CliTest {
protected:
    void SetUp() override {
        for (const Words& words : {Words{"unshare", "-m"}, Words{"unshare", "-rm"}}) {
            Words trial = words;
            trial.insert(trial.end(),
                         {"sh", "-c", fmt::format("mount -t tmpfs none '{}'", disk())});
            if (run(trial).code != 0) continue;
            unshare_ = words;
            break;
        }
        if (unshare_.empty()) GTEST_SKIP() << "no file system can be mounted here";
        ok({"generate", "sbm", "data", "--vertices", "5000"});
        write("edges.txt", many_edges());
    }

    [[nodiscard]] std::string disk() {
        std::filesystem::create_directories(folder_ / "disk");
        return (folder_ / "disk").string();
    }

    static std::string many_edges() {
        std::string text;
        for (int i = 0; i < 30000; ++i)
            text += fmt::format("{} {}\n", i, (i * 7919) % 30000);
        return text;
    }

    /// Expects `arguments` to fail on a disk mounted with `options`, with `word` in the message,
    /// and the disk to be as empty as before.
    void fails(const std::string& options, const std::string& arguments, const std::string& word) {
        Words words = unshare_;
        words.insert(words.end(),
                     {"sh", "-c",
                      fmt::format("mount -t tmpfs -o {} none disk && '{}' {}; code=$?; "
                                  "echo \"left: $(ls -A disk)\"; exit $code",
                                  options, program().string(), arguments)});
        const Outcome outcome = run(words, here());
        EXPECT_EQ(outcome.code, 1) << arguments << '\n' << outcome.err;
        EXPECT_EQ(outcome.out, "left: \n") << arguments;
        EXPECT_THAT(outcome.err, HasSubstr(word));
        EXPECT_THAT(outcome.err, HasSubstr("disk/"));
        EXPECT_THAT(outcome.err, HasSubstr("to do: "));
    }

    Words unshare_;
};

TEST_F(Disk, FullWhileGenerating) {
    fails("size=256k", "generate sbm disk/out --vertices 5000", "No space left");
}
TEST_F(Disk, FullWhileImporting) {
    fails("size=256k", "import edges.txt disk/out", "No space left");
}
TEST_F(Disk, FullWhilePartitioning) {
    fails("size=256k", "partition data disk/out --parts 2", "No space left");
}
TEST_F(Disk, FullWhileExporting) {
    fails("size=256k", "export data disk/out.npz", "No space left");
}

/// Some checkpoints fit. The run goes on to its end without the others, says so in spite of
/// --quiet, and ends with 1; on a larger disk it is resumed from the last that fitted, to the
/// losses of a run left alone.
TEST_F(Disk, FullWhileTraining) {
    ok({"partition", "data", "parts", "--parts", "2", "--method", "ldg"});
    const std::string train = fmt::format(
        "'{}' train parts --epochs 12 --hidden 512 --batch 300 --policy scored --quiet "
        "--json --out ",
        program().string());
    const Outcome alone = run({"sh", "-c", train + "alone"}, here());
    ASSERT_EQ(alone.code, 0) << alone.err;
    const Json whole = parse_json(alone.out, "alone");
    // Room for a few checkpoints of those that are kept at a time, and what else the run writes.
    std::uintmax_t checkpoint = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             folder_ / "alone/checkpoints" /
             fmt::format("step-{:010}", whole.at("steps").get<int>())))
        checkpoint += entry.file_size();
    const std::uintmax_t room = checkpoint * 5 / 2;
    Words words = unshare_;
    words.insert(words.end(),
                 {"sh", "-c",
                  fmt::format("mount -t tmpfs -o size={} none disk && {{ {}disk/run >full.json; "
                              "echo $? >full.code; cp -r disk/run full; ls -AR disk/run >left; "
                              "mount -o remount,size=100m disk && {}disk/run --resume; }}",
                              room, train, train)});
    const Outcome outcome = run(words, here());
    EXPECT_EQ(bytes_of(folder_ / "full.code"), "1\n") << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("No space left"));
    EXPECT_THAT(outcome.err, HasSubstr("the last or the best weights were not written"));
    const Json full = read_json(folder_ / "full.json");
    EXPECT_EQ(full.at("loss"), whole.at("loss")) << "training went on";
    EXPECT_GT(full.at("checkpoints").at("written"), 0);
    EXPECT_GT(full.at("checkpoints").at("failed"), 0);
    EXPECT_FALSE(full.at("checkpoints").at("complete"));
    EXPECT_THAT(bytes_of(folder_ / "left"), testing::Not(HasSubstr("partial")));
    ok({"info", "full", "--check"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Json resumed = parse_json(outcome.out, "resumed");
    EXPECT_EQ(resumed.at("resumed_at"), full.at("checkpoints").at("last"));
    EXPECT_LT(resumed.at("resumed_at"), whole.at("steps"));
    EXPECT_EQ(resumed.at("loss"), whole.at("loss"));
    EXPECT_TRUE(resumed.at("checkpoints").at("complete"));
}

TEST_F(Disk, ReadOnly) {
    fails("ro", "generate sbm disk/out --vertices 500", "Read-only");
    fails("ro", "import edges.txt disk/out", "Read-only");
    fails("ro", "partition data disk/out --parts 2", "Read-only");
    fails("ro", "export data disk/out.npz", "Read-only");
}

class Permissions : public CliTest {};

TEST_F(Permissions, FolderThatMayNotBeWritten) {
    if (::geteuid() == 0) GTEST_SKIP() << "permissions do not bind root";
    std::filesystem::create_directory(folder_ / "closed");
    std::filesystem::permissions(folder_ / "closed", std::filesystem::perms::owner_read |
                                                         std::filesystem::perms::owner_exec);
    refuse({"generate", "grid", "closed/out"}, 1, {"closed/", "Permission denied"});
}

TEST_F(Permissions, PathThroughAFile) {
    write("file", "kept");
    refuse({"generate", "grid", "file/out"}, 1, {"file/"});
    EXPECT_EQ(bytes_of(folder_ / "file"), "kept");
}

TEST_F(Permissions, FullStandardOutput) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
    const Outcome outcome =
        run({"sh", "-c", fmt::format("'{}' doctor --json >/dev/full", program().string())});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("standard output"));
    EXPECT_THAT(outcome.err, HasSubstr("No space left"));
}

}  // namespace
}  // namespace rudder::test
