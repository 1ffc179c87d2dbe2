// Mapped files that are cut short while they are read: an error with the file's name, not a crash.
#include "core/mapped_files.hpp"

#include <csignal>
#include <vector>

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rudder/core/array.hpp"
#include "rudder/core/file.hpp"

#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using testing::ExitedWithCode;
using testing::KilledBySignal;

/// Reads one byte of each page.
int touch(const Region& region) {
    int sum = 0;
    for (std::size_t at = 0; at < region.size(); at += 4096)
        sum += static_cast<int>(static_cast<volatile std::byte*>(region.data())[at]);
    return sum;
}

class LostFileDeathTest : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

    [[nodiscard]] Region map(const std::string& name) const {
        write_text(temp_ / name, std::string(1 << 16, 'x'));
        return Region::map(temp_ / name);
    }
    void cut(const std::string& name) const { std::filesystem::resize_file(temp_ / name, 5000); }

    test::TempDir temp_;
};

TEST_F(LostFileDeathTest, IsNamedWithCodeThree) {
    const auto lose = [&] {
        install_lost_file_handler();
        const Region other = map("other.bin");
        { const Region gone = map("gone.bin"); }
        const Region region = map("features.bin");
        const Region after = map("after.bin");
        cut("features.bin");
        static_cast<void>(touch(other) + touch(after));
        static_cast<void>(touch(region));
    };
    EXPECT_EXIT(lose(), ExitedWithCode(3),
                "rudder: error: a file that is being read was cut short, or its disk fails\n"
                "  where: .*/features.bin\n  to do: restore the file");
}

TEST_F(LostFileDeathTest, IsNamedAmongManyThatCameAndWent) {
    const auto lose = [&] {
        install_lost_file_handler();
        std::vector<Region> old;
        std::vector<Region> regions;
        for (int i = 0; i < 60; ++i)
            (i % 3 == 0 ? regions : old).push_back(map("old" + std::to_string(i)));
        old.clear();
        for (int i = 0; i < 60; ++i)
            regions.push_back(map("new" + std::to_string(i)));
        cut("new37");
        for (std::size_t i = 0; i < regions.size(); ++i)
            static_cast<void>(touch(regions[i]));
    };
    EXPECT_EXIT(lose(), ExitedWithCode(3), "where: .*/new37\n");
}

TEST_F(LostFileDeathTest, IsGivenToWhoeverWatches) {
    const auto lose = [&] {
        install_lost_file_handler();
        const LostFileWatch watch([](const Error& error) {
            static_cast<void>(std::fprintf(stderr, "told of %s\n", error.where().c_str()));
            ::_exit(error.exit_code() + 40);
        });
        const Region region = map("labels.bin");
        cut("labels.bin");
        std::vector<std::thread> readers;
        for (int i = 0; i < 4; ++i)
            readers.emplace_back([&] { static_cast<void>(touch(region)); });
        for (std::thread& reader : readers)
            reader.join();
    };
    EXPECT_EXIT(lose(), ExitedWithCode(43), "told of .*/labels.bin");
}

TEST_F(LostFileDeathTest, AWatcherThatHangsEndsTheProcessAllTheSame) {
    const auto lose = [&] {
        install_lost_file_handler();
        const LostFileWatch watch([](const Error&) { ::pause(); });
        const Region region = map("labels.bin");
        cut("labels.bin");
        static_cast<void>(touch(region));
    };
    EXPECT_EXIT(lose(), ExitedWithCode(3), "where: .*/labels.bin");
}

TEST_F(LostFileDeathTest, OtherSignalsOfThatKindDoWhatTheyDid) {
    const auto lose = [&] {
        install_lost_file_handler();
        const Region region = map("features.bin");
        ::raise(SIGBUS);
        ::raise(SIGBUS);
        static_cast<void>(touch(region));
    };
    EXPECT_EXIT(lose(), KilledBySignal(SIGBUS), "");
}

TEST(LostFile, WatchesComeAndGo) {
    install_lost_file_handler();
    for (int i = 0; i < 3; ++i)
        const LostFileWatch watch([](const Error&) { ADD_FAILURE(); });
    ::signal(SIGBUS, SIG_DFL);
}

}  // namespace
}  // namespace rudder
