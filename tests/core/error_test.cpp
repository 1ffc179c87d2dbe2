// What an Error carries, interrupts that are put off, CPU time of a thread, and raw vectors.
#include "rudder/core/error.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <limits>
#include <random>
#include <thread>

#include <gmock/gmock.h>

#include "core/cpu_meter.hpp"
#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "core/system.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/core/text.hpp"

namespace rudder {
namespace {

using ::testing::HasSubstr;

TEST(Error, KeepsItsPartsAsData) {
    const Error error(ErrorKind::rank, "problem", "place", "remedy", 3);
    EXPECT_EQ(error.kind(), ErrorKind::rank);
    EXPECT_EQ(error.problem(), "problem");
    EXPECT_EQ(error.where(), "place");
    EXPECT_EQ(error.remedy(), "remedy");
    EXPECT_EQ(error.rank(), 3);
    const Error& copy = Error(error);
    EXPECT_EQ(copy.rank(), 3);
    EXPECT_STREQ(copy.what(), error.what());
}

TEST(Error, TheRankIsNotPartOfTheText) {
    EXPECT_STREQ(Error(ErrorKind::failed, "a", "b", "c", 7).what(),
                 Error(ErrorKind::failed, "a", "b", "c").what());
    EXPECT_EQ(input_error("a", "b", "c").rank(), std::nullopt);
    EXPECT_EQ(usage_error("a", "b", "c").rank(), std::nullopt);
    EXPECT_EQ(system_error("a", "b", ENOENT).rank(), std::nullopt);
}

TEST(Error, EmptyPartsHaveNoLine) {
    EXPECT_STREQ(Error(ErrorKind::failed, "a", "", "").what(), "a");
    EXPECT_STREQ(Error(ErrorKind::failed, "a", "b", "").what(), "a\n  where: b");
    EXPECT_STREQ(Error(ErrorKind::failed, "a", "", "c").what(), "a\n  to do: c");
}

TEST(Error, RemediesFitTheSystemsReason) {
    EXPECT_THAT(system_error("x", "", ENOSPC).remedy(), HasSubstr("free some space"));
    EXPECT_EQ(system_error("x", "", EDQUOT).remedy(), system_error("x", "", ENOSPC).remedy());
    EXPECT_THAT(system_error("x", "", EACCES).remedy(), HasSubstr("permissions"));
    EXPECT_EQ(system_error("x", "", EROFS).remedy(), system_error("x", "", EPERM).remedy());
    EXPECT_THAT(system_error("x", "", ENOMEM).remedy(), HasSubstr("memory"));
    EXPECT_THAT(system_error("x", "", EMFILE).remedy(), HasSubstr("ulimit"));
    EXPECT_THAT(system_error("x", "", EIO).remedy(), HasSubstr("disk"));
}

// ---- interrupts --------------------------------------------------------------------------------

class Interrupts : public ::testing::Test {
protected:
    ~Interrupts() override { set_interrupted(false); }
};

TEST_F(Interrupts, ThrowOnceThereIsOne) {
    EXPECT_NO_THROW(throw_if_interrupted());
    set_interrupted(true);
    try {
        throw_if_interrupted();
        ADD_FAILURE() << "the flag is set";
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 5);
    }
}

TEST_F(Interrupts, AreDeferredWhileAnyDeferrerLives) {
    set_interrupted(true);
    {
        const DeferInterrupts outer;
        {
            const DeferInterrupts inner;
            EXPECT_NO_THROW(throw_if_interrupted());
        }
        EXPECT_NO_THROW(throw_if_interrupted()) << "the outer one still lives";
        EXPECT_THROW(throw_if_interrupted_at_once(), Error);
        EXPECT_TRUE(interrupted());
    }
    EXPECT_THROW(throw_if_interrupted(), Error);
}

// ---- CPU time ----------------------------------------------------------------------------------

void burn(std::uint64_t nanoseconds) {
    const std::uint64_t end = thread_cpu_nanoseconds() + nanoseconds;
    while (thread_cpu_nanoseconds() < end) {
    }
}

TEST(CpuMeter, CountsItsOwnThreadAlone) {
    constexpr std::uint64_t work = 20'000'000;
    std::atomic<std::uint64_t> busy{0};
    std::atomic<std::uint64_t> idle{0};
    std::thread worker([&] {
        const CpuMeter meter(busy);
        burn(work);
    });
    {
        const CpuMeter meter(idle);
        worker.join();  // waits, and uses next to nothing
    }
    EXPECT_GE(busy, work);
    EXPECT_LT(idle, work / 2);
    const double before = process_cpu_seconds();
    burn(work);
    EXPECT_GE(process_cpu_seconds() - before, 0.5e-9 * static_cast<double>(work));
}

TEST(CpuMeter, AddsToTheSum) {
    std::atomic<std::uint64_t> sum{1000};
    for (int i = 0; i < 3; ++i) {
        const CpuMeter meter(sum);
        burn(100'000);
    }
    EXPECT_GE(sum, 301'000U);
}

TEST(CpuMeter, CountsTheThreadsThatTakeChunksOfItsLoops) {
    constexpr std::uint64_t work = 4'000'000;
    const int before = thread_count();
    set_thread_count(4);
    std::atomic<std::uint64_t> outer{0};
    std::atomic<std::uint64_t> inner{0};
    std::atomic<std::uint64_t> other{0};
    {
        const CpuMeter all(outer);
        {
            const CpuMeter meter(inner);
            parallel_chunks(12, 1, [&](const Chunk&) { burn(work); });
        }
        EXPECT_GE(inner, 12 * work);
        const CpuMeter meter(other);
        burn(work);
    }
    set_thread_count(before);
    EXPECT_GE(outer, 13 * work);
    EXPECT_GE(other, work);
    EXPECT_LT(other, 12 * work);
    EXPECT_EQ(CpuMeter::current(), nullptr);
}

// ---- raw vectors -------------------------------------------------------------------------------

TEST(RawVector, GrowsWithoutWritingAndKeepsWhatItHad) {
    RawVector<std::uint64_t> raw;
    std::vector<std::uint64_t> plain;
    std::mt19937_64 draw(1);
    for (int round = 0; round < 50; ++round) {
        const std::size_t size = draw() % 2000;
        const std::size_t kept = std::min(size, plain.size());
        raw.resize(size);
        plain.resize(size);
        for (std::size_t i = kept; i < size; ++i)
            raw[i] = plain[i] = draw();
        ASSERT_TRUE(std::ranges::equal(raw, plain)) << "round " << round;
    }
    // Memory that was written before shows through: nothing was set to zero.
    raw.assign(1000, 7);
    raw.resize(0);
    raw.resize(1000);
    EXPECT_EQ(std::ranges::count(raw, 7U), 1000);
    raw.resize(0);
    raw.resize(1000, 9);
    EXPECT_EQ(std::ranges::count(raw, 9U), 1000) << "a value that is given is written";
}

// ---- log hook ----------------------------------------------------------------------------------

int hook_calls = 0;

TEST(LogHook, IsCalledBeforeMessagesThatAreWritten) {
    log::set_before([] { ++hook_calls; });
    log::set_level(log::Level::warning);
    ::testing::internal::CaptureStderr();
    log::info("hidden");
    EXPECT_EQ(hook_calls, 0) << "nothing was written";
    log::warning("shown");
    EXPECT_EQ(hook_calls, 1);
    log::call_before();
    EXPECT_EQ(hook_calls, 2);
    log::set_before(nullptr);
    log::error("without it");
    log::call_before();
    EXPECT_EQ(hook_calls, 2);
    const std::string said = ::testing::internal::GetCapturedStderr();
    log::set_level(log::Level::info);
    EXPECT_THAT(said, HasSubstr("shown"));
    EXPECT_EQ(said.find("hidden"), std::string::npos);
}

// ---- text, as properties -----------------------------------------------------------------------

TEST(Text, SplitIsTheInverseOfJoin) {
    std::mt19937_64 draw(4);
    for (int round = 0; round < 500; ++round) {
        std::string text(draw() % 12, ' ');
        for (char& c : text)
            c = "ab,"[draw() % 3];
        const auto pieces = split(text, ',');
        EXPECT_EQ(join(pieces, ","), text);
        EXPECT_EQ(pieces.size(), 1 + static_cast<std::size_t>(std::ranges::count(text, ',')));
        for (const std::string_view piece : pieces)
            EXPECT_EQ(piece.find(','), std::string_view::npos);
    }
}

TEST(Text, NumbersComeBackFromTheirDigits) {
    std::mt19937_64 draw(6);
    for (int round = 0; round < 1000; ++round) {
        const std::uint64_t number = draw() >> (draw() % 64);
        const std::string digits = std::to_string(number);
        ASSERT_EQ(parse_u64(digits), number);
        std::string grouped = format_count(number);
        ASSERT_EQ(grouped.size(), digits.size() + (digits.size() - 1) / 3);
        std::erase(grouped, ',');
        ASSERT_EQ(grouped, digits);
        ASSERT_EQ(parse_u64(digits + " "), std::nullopt);
        ASSERT_EQ(parse_u64("+" + digits), std::nullopt);
    }
    EXPECT_EQ(parse_u64("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(parse_u64("18446744073709551616"), std::nullopt);
}

TEST(Text, TrimmedLosesOnlyTheEnds) {
    for (const auto& [text, expected] :
         {std::pair{"", ""}, {"  ", ""}, {" a b\t", "a b"}, {"\n x\r\n", "x"}, {"none", "none"}})
        EXPECT_EQ(trimmed(text), expected);
}

/// A word misspelt by one letter is found among words that are far from each other.
TEST(Text, NearestFindsOneSlip) {
    const std::array<std::string_view, 4> words{"partition", "generate", "compare", "doctor"};
    std::mt19937_64 draw(8);
    for (int round = 0; round < 400; ++round) {
        const std::string_view meant = words[draw() % words.size()];
        std::string typed(meant);
        const std::size_t at = draw() % typed.size();
        switch (draw() % 3) {
            case 0:
                typed.erase(at, 1);
                break;
            case 1:
                typed.insert(at, 1, 'x');
                break;
            default:
                typed[at] = 'x';
        }
        ASSERT_EQ(nearest(typed, words), meant) << typed;
    }
    EXPECT_EQ(nearest("zzzzzzzz", words), std::nullopt);
    EXPECT_EQ(nearest("doctor", {}), std::nullopt);
}

}  // namespace
}  // namespace rudder
