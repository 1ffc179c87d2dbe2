// Files: what they keep, and that every failure names the path.
#include "rudder/core/file.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "rudder/core/error.hpp"

#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using test::TempDir;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

/// The Error that `action` throws; a failure when it throws none.
template <class F>
Error error_of(F action) {
    try {
        action();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "no error";
    return {ErrorKind::failed, "", "", ""};
}

TEST(File, PrivateOnesAreNeverThoseOfOthers) {
    const TempDir folder;
    write_text(folder / "precious", "gold");
    std::filesystem::create_symlink("precious", folder / "link");
    std::filesystem::create_symlink("nowhere", folder / "dangling");
    for (const char* taken : {"precious", "link", "dangling"})
        EXPECT_FALSE(File::create_private(folder / taken)) << taken;
    EXPECT_EQ(read_text(folder / "precious", 100), "gold");
    EXPECT_FALSE(std::filesystem::exists(folder / "nowhere"));
    auto own = File::create_private(folder / "own");
    ASSERT_TRUE(own);
    own->write(bytes_of("mine"));
    EXPECT_EQ(read_text(folder / "own", 100), "mine");
    EXPECT_EQ(std::filesystem::status(folder / "own").permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_THROW(static_cast<void>(File::create_private(folder / "no" / "folder")), Error);
}

TEST(File, KeepsWhatWasWritten) {
    const TempDir folder;
    const auto path = folder / "with space, ünïcode";
    File file = File::create(path);
    file.write(bytes_of("hello "));
    file.write(bytes_of("world"));
    file.write_at(0, bytes_of("J"));
    EXPECT_EQ(file.size(), 11U);
    file.sync_and_close();
    EXPECT_EQ(read_text(path, 100), "Jello world");
}

TEST(File, WritesAtAnOffsetPastTheEnd) {
    const TempDir folder;
    File file = File::create(folder / "sparse");
    constexpr std::uint64_t far = std::uint64_t{5} << 30;
    file.write_at(far, bytes_of("x"));
    EXPECT_EQ(file.size(), far + 1);
    std::byte last{};
    EXPECT_EQ(file.read_at(far, std::span(&last, 1)), 1U);
    EXPECT_EQ(last, std::byte{'x'});
}

TEST(File, ReadsFewerBytesOnlyAtTheEnd) {
    const TempDir folder;
    write_text(folder / "file", "12345");
    const File file = File::open(folder / "file");
    std::vector<std::byte> out(10);
    EXPECT_EQ(file.read_at(0, out), 5U);
    EXPECT_EQ(file.read_at(3, out), 2U);
    EXPECT_EQ(file.read_at(5, out), 0U);
    EXPECT_EQ(file.read_at(std::uint64_t{1} << 40, out), 0U);
}

TEST(File, CreatingEmptiesWhatWasThere) {
    const TempDir folder;
    write_text(folder / "file", "long text");
    write_text(folder / "file", "x");
    EXPECT_EQ(read_text(folder / "file", 100), "x");
}

TEST(File, MovesItsDescriptor) {
    const TempDir folder;
    File first = File::create(folder / "a");
    const int descriptor = first.descriptor();
    File second = std::move(first);
    EXPECT_EQ(second.descriptor(), descriptor);
    File third = File::create(folder / "b");
    third = std::move(second);
    EXPECT_EQ(third.descriptor(), descriptor);
    EXPECT_EQ(third.path(), folder / "a");
    third.close();
    third.close();
    EXPECT_EQ(third.descriptor(), -1);
}

TEST(FileErrors, NoSuchFileIsTheUsersInput) {
    const TempDir folder;
    const Error error = error_of([&] { (void)File::open(folder / "absent"); });
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.where(), (folder / "absent").string());
    write_text(folder / "file", "");
    EXPECT_EQ(error_of([&] { (void)File::open(folder / "file" / "below"); }).kind(),
              ErrorKind::input);
}

TEST(FileErrors, AFolderIsNoFile) {
    const TempDir folder;
    const Error error = error_of([&] { (void)File::open(folder.path()); });
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_THAT(error.problem(), HasSubstr("folder"));
    EXPECT_THROW((void)File::create(folder.path()), Error);
}

TEST(FileErrors, APlaceThatCannotBeWrittenNamesItself) {
    // Nobody, not even root, makes files in /proc.
    const Error error = error_of([] { (void)File::create("/proc/rudder-test"); });
    EXPECT_EQ(error.kind(), ErrorKind::failed);
    EXPECT_EQ(error.where(), "/proc/rudder-test");
    EXPECT_FALSE(error.remedy().empty());
}

TEST(FileErrors, AFullDiskIsToldWithARemedy) {
    if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "/dev/full cannot be written here";
    File file = File::create("/dev/full");
    const Error error = error_of([&] { file.write(bytes_of("x")); });
    EXPECT_EQ(error.kind(), ErrorKind::failed);
    EXPECT_THAT(error.problem(), HasSubstr("No space left"));
    EXPECT_THAT(error.remedy(), HasSubstr("space"));
    EXPECT_THROW(file.write_at(0, bytes_of("x")), Error);
}

TEST(FileErrors, WritingToAFileOpenForReading) {
    const TempDir folder;
    write_text(folder / "file", "x");
    File file = File::open(folder / "file");
    EXPECT_THROW(file.write(bytes_of("y")), Error);
}

TEST(FileErrors, AnOffsetNoFileCanHave) {
    const TempDir folder;
    write_text(folder / "file", "x");
    const File file = File::open(folder / "file");
    std::byte out{};
    EXPECT_THROW((void)file.read_at(std::uint64_t{1} << 63, std::span(&out, 1)), Error);
}

TEST(Inside, LinksMayNotLeadOut) {
    const TempDir folder;
    namespace fs = std::filesystem;
    const fs::path home = folder / "home";
    fs::create_directories(home / "deep");
    write_text(home / "file", "a");
    write_text(folder / "outside", "b");
    fs::create_directory_symlink(home, folder / "alias");
    const auto link = [&](const fs::path& target, const char* name) {
        fs::remove(home / name);
        fs::create_symlink(target, home / name);
    };
    EXPECT_NO_THROW(check_inside(home, home / "file"));
    EXPECT_NO_THROW(check_inside(home, home / "missing"));
    for (const fs::path& target : {fs::path("file"), home / "file", folder / "alias/file"}) {
        link(target, "link");
        EXPECT_NO_THROW(check_inside(home, home / "link")) << target;
        EXPECT_NO_THROW(check_inside(folder / "alias", folder / "alias/link")) << target;
        EXPECT_NO_THROW(check_files_inside(home)) << target;
    }
    for (const fs::path& target : {fs::path("../outside"), folder / "outside", fs::path("gone"),
                                   fs::path("link"), fs::path("deep/../../outside")}) {
        link(target, "link");
        const Error error = error_of([&] { check_inside(home, home / "link"); });
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_EQ(error.problem(), "a symbolic link leads out of the folder");
        EXPECT_EQ(error.where(), (home / "link").string());
        EXPECT_EQ(error_of([&] { check_files_inside(home); }).where(), (home / "link").string());
    }
    fs::remove(home / "link");
    fs::create_directory_symlink(folder.path(), home / "elsewhere");
    EXPECT_NO_THROW(check_files_inside(home)) << "a folder may lie elsewhere";
    EXPECT_NO_THROW(check_files_inside(folder / "missing"));
}

TEST(ReadText, RefusesWhatIsLargerThanItsLimit) {
    const TempDir folder;
    write_text(folder / "file", "123456");
    EXPECT_EQ(read_text(folder / "file", 6), "123456");
    const Error error = error_of([&] { (void)read_text(folder / "file", 5); });
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_EQ(error.where(), (folder / "file").string());
}

TEST(ReadText, ReadsFilesThatDoNotKnowTheirSize) {
    // Files in /proc say they have 0 bytes; what they hold must not be lost, nor exceed the limit.
    EXPECT_FALSE(read_text("/proc/self/status", 1 << 20).empty());
    EXPECT_THROW((void)read_text("/proc/self/status", 10), Error);
}

}  // namespace
}  // namespace rudder
