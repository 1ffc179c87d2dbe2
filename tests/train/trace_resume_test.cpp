// Traces of runs that were put down and taken up again: those of runs left alone, or a refusal.
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/buffer/trace.hpp"
#include "rudder/core/error.hpp"
#include "run/run_folder.hpp"
#include "train/fixture.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string bytes_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// All files below a folder, hidden ones included.
std::map<std::string, std::string> files_below(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file())
            files[entry.path().lexically_relative(folder).string()] = bytes_of(entry.path());
    }
    return files;
}

class ResumedTrace : public testing::Test {
protected:
    [[nodiscard]] train::TrainOptions options_for(const fs::path& run) const {
        train::TrainOptions options = small_options();
        options.epochs = 3;
        options.trace = run / "trace";
        return options;
    }
    [[nodiscard]] std::vector<Trained> go(const fs::path& run, std::uint64_t stop_after,
                                          int ranks = 4) const {
        return stretch(data_, options_for(run), run, ranks, stop_after);
    }
    /// Goes on, which must be refused.
    void refuse(const fs::path& run, int code, const char* word, int ranks = 4) const {
        const auto before = files_below(run);
        try {
            static_cast<void>(go(run, 0, ranks));
            FAIL() << "a trace that does not reach the checkpoint was gone on with";
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), code) << error.what();
            EXPECT_THAT(error.what(), HasSubstr(word));
            EXPECT_THAT(error.what(), HasSubstr("without --trace"));
        }
        EXPECT_EQ(files_below(run), before);
    }

    TempDir folder_;
    partition::PartitionedDataset data_ = make_parts(folder_.path(), {});
};

TEST_F(ResumedTrace, EqualsThatOfARunLeftAlone) {
    const fs::path left_alone = folder_.path() / "whole";
    const auto whole = go(left_alone, 0);
    const auto expected = files_below(left_alone / "trace");
    ASSERT_EQ(buffer::read_trace(left_alone).size(), 4U);
    ASSERT_EQ(buffer::read_trace(left_alone)[0]->steps(), whole[0].result.steps);
    for (std::uint64_t step = 1; step < whole[0].result.steps; step += 2) {
        const fs::path run = folder_.path() / ("run" + std::to_string(step));
        EXPECT_TRUE(go(run, step)[0].result.interrupted);
        EXPECT_THROW(static_cast<void>(buffer::read_trace(run)), Error) << "taken for a whole one";
        static_cast<void>(go(run, step + 3));
        const auto last = go(run, 0);
        EXPECT_EQ(last[0].result.digest, whole[0].result.digest);
        EXPECT_EQ(last[0].result.floor, whole[0].result.floor);
        EXPECT_EQ(files_below(run / "trace"), expected);
        expect_closed(last[0].result);
    }
}

TEST_F(ResumedTrace, OfARunThatHadFinished) {
    const fs::path run = folder_.path() / "run";
    train::TrainOptions options = options_for(run);
    options.epochs = 2;
    static_cast<void>(stretch(data_, options, run, 4, 0));
    static_cast<void>(go(run, 0));
    const fs::path left_alone = folder_.path() / "whole";
    static_cast<void>(go(left_alone, 0));
    EXPECT_EQ(files_below(run / "trace"), files_below(left_alone / "trace"));
}

TEST_F(ResumedTrace, HasNoStepPastAnEarlyStop) {
    const fs::path run = folder_.path() / "run";
    train::TrainOptions options = options_for(run);
    options.epochs = 40;
    options.patience = 2;
    const auto stopped = stretch(data_, options, run, 4, 0);
    ASSERT_TRUE(stopped[0].result.stopped_early);
    for (const auto& host : buffer::read_trace(run))
        EXPECT_EQ(host->steps(), stopped[0].result.steps);
}

TEST_F(ResumedTrace, ThatDoesNotReachTheCheckpointIsRefused) {
    const fs::path run = folder_.path() / "run";
    static_cast<void>(go(run, 7));
    refuse(run, 3, "hosts was 4, now 2", 2);
    const fs::path host = run / "trace/.host-00002.partial";
    ASSERT_TRUE(fs::exists(host / "offsets.bin"));
    const std::string offsets = bytes_of(host / "offsets.bin");
    fs::resize_file(host / "offsets.bin", 3 * sizeof(std::uint64_t));
    refuse(run, 3, "the trace has 2 of the");
    std::ofstream(host / "offsets.bin", std::ios::binary) << offsets;
    fs::resize_file(host / "ids.bin", 4);
    refuse(run, 3, "steps before the checkpoint");
    fs::remove_all(host);
    refuse(run, 2, "the run has no trace of the");
}

/// What is gone on with is written: a link that leads elsewhere is not followed there.
TEST_F(ResumedTrace, LinksLeadNowhereOutside) {
    const fs::path run = folder_.path() / "run";
    static_cast<void>(go(run, 7));
    const fs::path host = run / "trace/.host-00002.partial";
    for (const char* name : {"ids.bin", "offsets.bin", "halo.bin"}) {
        const fs::path outside = folder_ / "outside";
        fs::rename(host / name, outside);
        fs::create_symlink(outside, host / name);
        const std::string before = bytes_of(outside);
        const Refusal refusal = refusal_of([&] { static_cast<void>(go(run, 0)); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        EXPECT_THAT(refusal.problem, HasSubstr("symbolic link leads out"));
        EXPECT_THAT(refusal.problem + refusal.where, HasSubstr(name));
        EXPECT_EQ(bytes_of(outside), before);
        fs::remove(host / name);
        fs::rename(outside, host / name);
    }
    static_cast<void>(go(run, 0));
}

TEST(CutLines, KeepsThoseOfStepsBefore) {
    const TempDir folder;
    const fs::path file = folder.path() / "decisions.jsonl";
    run::cut_lines(file, 5);
    EXPECT_FALSE(fs::exists(file));
    const std::string early = "{\"step\": 2, \"agent\": \"a\"}\n";
    const std::string late = "{\"step\": 5}\n";
    const std::string outcome = "{\"rank\": 1, \"step\": 4}\n";
    std::ofstream(file) << early << late << outcome << "{\"step\": 3, \"ag\n"
                        << "{\"rank\": 0}\n{\"step\": 1";
    run::cut_lines(file, 5);
    EXPECT_EQ(bytes_of(file), early + outcome);
    run::cut_lines(file, 4);
    EXPECT_EQ(bytes_of(file), early);
    run::cut_lines(file, 0);
    EXPECT_EQ(bytes_of(file), "");
    for (const auto& entry : fs::directory_iterator(folder.path()))
        EXPECT_EQ(entry.path(), file);
}

TEST(CutLines, ARunFolderIsCutWhenItIsReopened) {
    const TempDir folder;
    const fs::path run = folder.path() / "run";
    fs::create_directories(run);
    std::ofstream(run / "metrics.jsonl") << "12345678";
    std::ofstream(run / "decisions.jsonl") << "{\"step\": 0}\n{\"step\": 1}\n";
    static_cast<void>(run::RunFolder::reopen(run, "", 1));
    EXPECT_EQ(bytes_of(run / "metrics.jsonl"), "12345678");
    EXPECT_EQ(bytes_of(run / "decisions.jsonl"), "{\"step\": 0}\n");
}

}  // namespace
}  // namespace rudder::test
