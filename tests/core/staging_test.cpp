// Staging: an output appears whole or not at all.
#include "core/staging.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

#include "support/temp_dir.hpp"

namespace rudder {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

/// How many names a folder holds, hidden ones included.
std::size_t names_in(const fs::path& folder) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

void make_folder(const fs::path& output, const std::string& text, Existing existing) {
    Staging staging = Staging::folder(output, existing);
    write_text(staging.path() / "file", text);
    staging.commit();
}

ErrorKind kind_of_refusal(const fs::path& output) {
    try {
        (void)Staging::folder(output, Existing::refuse);
    } catch (const Error& error) {
        return error.kind();
    }
    return ErrorKind::failed;
}

TEST(Staging, NothingShowsBeforeTheCommit) {
    const TempDir folder;
    const fs::path output = folder / "out put";
    Staging staging = Staging::folder(output, Existing::refuse);
    write_text(staging.path() / "file", "text");
    EXPECT_FALSE(fs::exists(output));
    EXPECT_EQ(staging.path().parent_path(), output.parent_path());  // one rename away
    staging.commit();
    EXPECT_EQ(read_text(output / "file", 100), "text");
    EXPECT_EQ(names_in(folder.path()), 1U);
}

TEST(Staging, WithoutACommitNothingIsLeft) {
    const TempDir folder;
    {
        const Staging staging = Staging::folder(folder / "out", Existing::refuse);
        write_text(staging.path() / "file", "text");
    }
    EXPECT_TRUE(folder.empty());
}

TEST(Staging, AnExceptionLeavesNothing) {
    const TempDir folder;
    EXPECT_THROW(
        {
            const Staging staging = Staging::folder(folder / "out", Existing::refuse);
            write_text(staging.path() / "file", "text");
            throw std::runtime_error("disk on fire");
        },
        std::runtime_error);
    EXPECT_TRUE(folder.empty());
}

TEST(Staging, RefusesWhatExists) {
    const TempDir folder;
    make_folder(folder / "out", "first", Existing::refuse);
    EXPECT_EQ(kind_of_refusal(folder / "out"), ErrorKind::usage);
    EXPECT_EQ(kind_of_refusal(folder / "out/"), ErrorKind::usage);
    EXPECT_EQ(kind_of_refusal(folder / "x/../out/."), ErrorKind::usage);
    EXPECT_EQ(read_text(folder / "out" / "file", 100), "first");
    EXPECT_EQ(names_in(folder.path()), 1U);
}

TEST(Staging, RefusesADanglingLink) {
    const TempDir folder;
    fs::create_symlink("nowhere", folder / "out");
    EXPECT_EQ(kind_of_refusal(folder / "out"), ErrorKind::usage);
}

TEST(Staging, ReplacesAFolderAndLeavesNoTrace) {
    const TempDir folder;
    make_folder(folder / "out", "first", Existing::refuse);
    write_text(folder / "out" / "stale", "");
    make_folder(folder / "out", "second", Existing::replace);
    EXPECT_EQ(read_text(folder / "out" / "file", 100), "second");
    EXPECT_FALSE(fs::exists(folder / "out" / "stale"));
    EXPECT_EQ(names_in(folder.path()), 1U);
}

TEST(Staging, AFailedReplacementKeepsTheOld) {
    const TempDir folder;
    make_folder(folder / "out", "first", Existing::refuse);
    {
        const Staging staging = Staging::folder(folder / "out", Existing::replace);
        write_text(staging.path() / "file", "second");
    }
    EXPECT_EQ(read_text(folder / "out" / "file", 100), "first");
    EXPECT_EQ(names_in(folder.path()), 1U);
}

TEST(Staging, ReplacesAFileByAFolder) {
    const TempDir folder;
    write_text(folder / "out", "a file");
    make_folder(folder / "out", "text", Existing::replace);
    EXPECT_EQ(read_text(folder / "out" / "file", 100), "text");
    EXPECT_EQ(names_in(folder.path()), 1U);
}

TEST(Staging, MakesTheFoldersAbove) {
    const TempDir folder;
    make_folder(folder / "a/b/out", "text", Existing::refuse);
    EXPECT_TRUE(fs::exists(folder / "a/b/out/file"));
}

TEST(Staging, CommitsAFile) {
    const TempDir folder;
    for (const std::string text : {"first", "second"}) {
        Staging staging = Staging::file(folder / "new/out.npz", Existing::replace);
        write_text(staging.path(), text);
        staging.commit();
        EXPECT_EQ(read_text(folder / "new/out.npz", 100), text);
    }
    EXPECT_EQ(names_in(folder / "new"), 1U);
    EXPECT_THROW((void)Staging::file(folder / "new/out.npz", Existing::refuse), Error);
    EXPECT_THROW((void)Staging::file(folder / "new", Existing::replace), Error);
}

TEST(Staging, AnAbandonedFileIsRemoved) {
    const TempDir folder;
    {
        const Staging staging = Staging::file(folder / "out", Existing::refuse);
        write_text(staging.path(), "half");
    }
    EXPECT_TRUE(folder.empty());
}

TEST(Staging, CanBeMoved) {
    const TempDir folder;
    Staging first = Staging::folder(folder / "out", Existing::refuse);
    Staging second = std::move(first);
    second.commit();
    EXPECT_TRUE(fs::is_directory(folder / "out"));
}

TEST(Staging, RefusesAnOutputWithoutAName) {
    for (const char* output : {"", "/", ".", "..", "x/.."}) {
        EXPECT_THROW((void)Staging::folder(output, Existing::replace), Error) << output;
    }
}

TEST(Staging, WhereNothingMayBeWritten) {
    try {
        (void)Staging::folder("/proc/rudder-test", Existing::refuse);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::failed);
    }
}

TEST(Staging, AFileInTheCurrentFolder) {
    const TempDir folder;
    const fs::path before = fs::current_path();
    fs::current_path(folder.path());
    {
        Staging staging = Staging::file("new.npz", Existing::refuse);
        write_text(staging.path(), "new");
        staging.commit();
    }
    fs::current_path(before);
    EXPECT_EQ(read_text(folder / "new.npz", 100), "new");
    EXPECT_EQ(names_in(folder.path()), 1U);
}

}  // namespace
}  // namespace rudder
