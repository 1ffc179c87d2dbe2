// Windows of shared memory, and the board on which ranks of a machine report.
#include "comm/window.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/watch_board.hpp"
#include "core/huge_vector.hpp"
#include "core/span.hpp"
#include "rudder/core/error.hpp"

namespace rudder::test {
namespace {

using ::testing::HasSubstr;

std::string fresh_name() {
    static int number = 0;
    return fmt::format("/rudder-test-{}-{}", ::getpid(), number++);
}

bool all_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST(Window, PrivateOnesAreZeroAndApart) {
    const auto one = comm::private_window(5000);
    const auto other = comm::private_window(5000);
    EXPECT_TRUE(all_zero(*one));
    (*one)[4999] = std::byte{1};
    EXPECT_TRUE(all_zero(*other));
    EXPECT_TRUE(comm::private_window(0)->empty());
}

TEST(Window, AnotherProcessSeesWhatIsWritten) {
    const std::string name = fresh_name();
    const auto window = comm::create_shared_window(name, 10'000);
    EXPECT_TRUE(all_zero(*window));
    (*window)[0] = std::byte{7};
    const pid_t child = ::fork();
    if (child == 0) {
        const auto same = comm::open_shared_window(name, 10'000);
        const bool seen = (*same)[0] == std::byte{7};
        (*same)[9999] = std::byte{9};
        ::_exit(seen ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ((*window)[9999], std::byte{9});
    comm::unlink_shared_window(name);
}

TEST(Window, OnesWhoseMakerDiedAreSwept) {
    const std::string of_dead = fresh_name();
    const std::string of_living = fresh_name();
    const std::filesystem::path folder = "/dev/shm";
    const auto file = [&](const std::string& name) { return folder / name.substr(1); };
    // First the one that stays: a process that makes its first block sweeps before it.
    const auto window = comm::create_shared_window(of_living, 100);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto block = comm::create_shared_window(of_dead, 100);
        ::_exit(std::filesystem::exists(file(of_dead)) ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "it was never there";
    comm::sweep_shared_windows(folder);
    EXPECT_FALSE(std::filesystem::exists(file(of_dead)));
    EXPECT_TRUE(std::filesystem::exists(file(of_living)));
    comm::unlink_shared_window(of_living);
}

TEST(Window, LargeOnesBeginOnAHugePageAndCanBeMovedToSuch) {
    const std::string name = fresh_name();
    constexpr std::size_t bytes = (std::size_t{5} << 20) + 12'345;
    const auto window = comm::create_shared_window(name, bytes);
    const auto other = comm::open_shared_window(name, bytes);
    comm::unlink_shared_window(name);
    for (const auto* mapped : {window.get(), other.get()})
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped->data()) % (std::size_t{2} << 20), 0U);
    EXPECT_TRUE(all_zero(*window));
    for (std::size_t i = 0; i < bytes; ++i)
        (*window)[i] = static_cast<std::byte>(i % 251);
    collapse_huge(window->data(), bytes);
    collapse_huge(nullptr, 0);
    (*other)[bytes - 1] = std::byte{255};
    for (std::size_t i = 0; i + 1 < bytes; ++i)
        ASSERT_EQ((*other)[i], static_cast<std::byte>(i % 251)) << i;
    EXPECT_EQ(window->back(), std::byte{255});
}

TEST(Window, NamesAreTakenOnceAndGoWithTheirRemoval) {
    const std::string name = fresh_name();
    const auto window = comm::create_shared_window(name, 64);
    EXPECT_THROW(static_cast<void>(comm::create_shared_window(name, 64)), Error);
    comm::unlink_shared_window(name);
    (*window)[63] = std::byte{1};  // who has mapped it keeps it
    try {
        static_cast<void>(comm::open_shared_window(name, 64));
        ADD_FAILURE() << "its name is gone";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::failed);
        EXPECT_THAT(error.what(), HasSubstr("cannot open shared memory"));
        EXPECT_EQ(error.where(), name);
    }
}

TEST(Window, MoreThanThereIsIsAnErrorNotASignal) {
    const std::string name = fresh_name();
    try {
        static_cast<void>(comm::create_shared_window(name, std::size_t{1} << 50U));
        ADD_FAILURE() << "a pebibyte";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("of shared memory"));
    }
    EXPECT_THROW(static_cast<void>(comm::open_shared_window(name, 1)), Error) << "it was removed";
}

TEST(Window, EmptyOnesNeedNoName) {
    EXPECT_TRUE(comm::create_shared_window("no/such/name", 0)->empty());
    EXPECT_TRUE(comm::open_shared_window("no/such/name", 0)->empty());
}

// ---- the board ---------------------------------------------------------------------------------

TEST(WatchBoard, TextsAreCutAndEnded) {
    std::array<char, 8> field{};
    comm::set_text(field, "abc");
    EXPECT_STREQ(field.data(), "abc");
    comm::set_text(field, "0123456789");
    EXPECT_STREQ(field.data(), "0123456");
    comm::set_text(field, "");
    EXPECT_TRUE(std::ranges::all_of(field, [](char c) { return c == '\0'; })) << "nothing is left";
}

TEST(WatchBoard, ReportsComeBackWhole) {
    auto entry = std::make_unique<comm::BoardEntry>();
    const std::int64_t before = comm::monotonic_ns();
    comm::RankReport report;
    report.state = comm::RankState::failed;
    report.code = 3;
    report.progress = 1ULL << 40U;
    report.relayed = 1;
    comm::set_text(report.phase, "sampling > waiting");
    comm::set_text(report.reason, std::string(1000, 'x'));
    entry->write(report);
    const comm::RankReport read = entry->read();
    EXPECT_EQ(read.state, comm::RankState::failed);
    EXPECT_EQ(read.code, 3);
    EXPECT_EQ(read.progress, 1ULL << 40U);
    EXPECT_EQ(read.relayed, 1);
    EXPECT_STREQ(read.phase.data(), "sampling > waiting");
    EXPECT_EQ(std::strlen(read.reason.data()), report.reason.size() - 1);
    EXPECT_GE(entry->heartbeat.load(), before);
    EXPECT_EQ(entry->sequence.load() % 2, 0U);
}

/// A reader never sees half of one report and half of the next.
TEST(WatchBoard, ReportsAreNeverTorn) {
    auto entry = std::make_unique<comm::BoardEntry>();
    std::atomic<bool> stop{false};
    const auto filled = [](std::uint64_t n) {
        comm::RankReport report;
        report.progress = n;
        report.code = static_cast<std::int32_t>(n % 1000);
        comm::set_text(report.reason, std::string(300, static_cast<char>('a' + n % 26)));
        return report;
    };
    entry->write(filled(0));
    std::thread writer([&] {
        for (std::uint64_t n = 1; !stop; ++n) {
            entry->write(filled(n));
            std::this_thread::yield();  // so that a reader finds a moment without a write
        }
    });
    std::uint64_t last = 0;
    for (int i = 0; i < 3000; ++i) {
        const comm::RankReport read = entry->read();
        ASSERT_EQ(read.code, static_cast<std::int32_t>(read.progress % 1000));
        ASSERT_EQ(std::string(read.reason.data()),
                  std::string(300, static_cast<char>('a' + read.progress % 26)));
        ASSERT_GE(read.progress, last) << "time does not run back";
        last = read.progress;
    }
    stop = true;
    writer.join();
}

TEST(WatchBoard, PhasesTellWorkFromWaiting) {
    const std::uint64_t before = comm::report_phases().progress;
    {
        const Span outer("test step");
        EXPECT_EQ(comm::report_phases().waiting, 0);
        {
            const Span inner(waiting_phase);
            const comm::RankReport report = comm::report_phases();
            EXPECT_EQ(report.waiting, 1);
            EXPECT_THAT(report.phase.data(), HasSubstr("test step > waiting for messages"));
            EXPECT_GE(report.progress, before + 2);
        }
        EXPECT_EQ(comm::report_phases().waiting, 0) << "it works again";
    }
    EXPECT_GE(comm::report_phases().progress, before + 4);
}

}  // namespace
}  // namespace rudder::test
