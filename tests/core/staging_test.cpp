// Staging: an output appears whole or not at all.
#include "core/staging.hpp"

#include <array>
#include <csignal>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/staged_names.hpp"
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

/// A process that stages an output and then ends as if killed, or waits to be told to.
class Stager {
public:
    Stager(const fs::path& output, bool ends) {
        std::array<int, 2> told{};
        EXPECT_EQ(::pipe(told.data()), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            Staging staging = Staging::folder(output, Existing::replace);
            write_text(staging.path() / "file", "half");
            static_cast<void>(::write(told[1], "x", 1));
            if (!ends) ::pause();
            ::_exit(0);  // without destructors
        }
        char byte = 0;
        EXPECT_EQ(::read(told[0], &byte, 1), 1);
        ::close(told[0]);
        ::close(told[1]);
        if (ends) end();
    }
    void end() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

private:
    pid_t pid_;
};

TEST(Staging, WhatADeadProcessLeftIsSwept) {
    const TempDir folder;
    const Stager dead(folder / "out", true);
    EXPECT_EQ(names_in(folder.path()), 1U);
    make_folder(folder / "other", "text", Existing::refuse);
    EXPECT_EQ(names_in(folder.path()), 2U) << "only of the same output";
    make_folder(folder / "out", "text", Existing::refuse);
    EXPECT_EQ(names_in(folder.path()), 2U);
    EXPECT_EQ(read_text(folder / "out/file", 100), "text");
}

TEST(Staging, WhatALiveProcessStagesStays) {
    const TempDir folder;
    Stager alive(folder / "out", false);
    make_folder(folder / "out", "text", Existing::refuse);
    EXPECT_EQ(names_in(folder.path()), 2U);
    alive.end();
    write_text(Staging::file(folder / "file", Existing::refuse).path(), "text");
    make_folder(folder / "out", "more", Existing::replace);
    EXPECT_EQ(names_in(folder.path()), 1U);
}

/// The name that the present process would stage under, with one of its three words changed.
fs::path staged_by_other(const fs::path& output, StagedKind kind, const std::string& process,
                         const std::string& start, const std::string& space) {
    const std::string name = staged_name(output, kind).filename().string();
    const std::size_t space_at = name.rfind('-');
    const std::size_t start_at = name.rfind('-', space_at - 1);
    const std::size_t process_at = name.rfind('-', start_at - 1);
    const auto word = [&](std::size_t from, std::size_t to, const std::string& other) {
        return "-" + (other.empty() ? name.substr(from + 1, to - from - 1) : other);
    };
    return output.parent_path() /
           (name.substr(0, process_at) + word(process_at, start_at, process) +
            word(start_at, space_at, start) + word(space_at, name.size(), space));
}

TEST(Staging, AnotherMachinesProcessesAreNotJudgedAndNumbersMayBeUsedAgain) {
    const TempDir folder;
    const fs::path out = folder / "out";
    const auto kind = StagedKind::partial;
    const fs::path elsewhere = staged_by_other(out, kind, "4000000", "", "0123456789abcdef");
    const fs::path earlier = staged_by_other(out, kind, "", "1", "");  // this number, long ago
    const fs::path present = staged_by_other(out, kind, "", "", "");
    const fs::path unknown = folder / ".out.partial-4000000";  // of an earlier version
    for (const fs::path& path : {elsewhere, earlier, present, unknown})
        write_text(path, "half");
    sweep_staged(folder.path(), "", Garbage::of_dead);
    EXPECT_TRUE(fs::exists(elsewhere));
    EXPECT_FALSE(fs::exists(earlier));
    EXPECT_TRUE(fs::exists(present));
    EXPECT_TRUE(fs::exists(unknown));
    // A user's own hidden files are never touched.
    for (const char* name : {".out", ".partial-1", ".out.partial-", ".out.partial-mine", "x.old-1"})
        write_text(folder / name, "mine");
    sweep_staged(folder.path(), "", Garbage::all);
    EXPECT_EQ(names_in(folder.path()), 5U);
}

TEST(Staging, WhatWasBeingReplacedIsPutBackWhereNothingIs) {
    const TempDir folder;
    const fs::path out = folder / "out";
    const fs::path old = staged_by_other(out, StagedKind::old, "", "1", "");
    fs::create_directories(old);
    write_text(old / "file", "the only copy");
    EXPECT_EQ(kind_of_refusal(out), ErrorKind::usage);
    EXPECT_EQ(read_text(out / "file", 100), "the only copy");
    fs::create_directories(old);
    make_folder(out, "new", Existing::replace);
    EXPECT_EQ(read_text(out / "file", 100), "new");
    EXPECT_EQ(names_in(folder.path()), 1U);
}

TEST(Staging, WhatAppearsMeanwhileIsNotReplaced) {
    const TempDir folder;
    Staging first = Staging::folder(folder / "out", Existing::refuse);
    write_text(first.path() / "file", "first");
    fs::create_directories(folder / "out");
    EXPECT_THROW(first.commit(), Error);
    Staging file = Staging::file(folder / "file", Existing::refuse);
    write_text(file.path(), "staged");
    write_text(folder / "file", "of somebody else");
    EXPECT_THROW(file.commit(), Error);
    EXPECT_EQ(read_text(folder / "file", 100), "of somebody else");
}

}  // namespace
}  // namespace rudder
