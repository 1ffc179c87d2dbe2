// Words and quantities against slow and obvious bodies, on random input.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rudder/core/random.hpp"
#include "rudder/core/text.hpp"

namespace rudder::test {
namespace {

Draws text_draws(std::uint64_t seed) {
    return Draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
}

std::string random_word(Draws& draws, std::size_t longest) {
    std::string text(draws.below(longest + 1), ' ');
    for (char& c : text)
        c = static_cast<char>('a' + draws.below(3));
    return text;
}

/// Letters to change, add, remove or swap with the next: by trying all of them, from the front.
std::size_t slow_distance(std::string_view a, std::string_view b) {
    if (a.empty() || b.empty()) return a.size() + b.size();
    std::size_t best = slow_distance(a.substr(1), b.substr(1)) + (a[0] == b[0] ? 0 : 1);
    best = std::min(best, slow_distance(a.substr(1), b) + 1);
    best = std::min(best, slow_distance(a, b.substr(1)) + 1);
    if (a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0])
        best = std::min(best, slow_distance(a.substr(2), b.substr(2)) + 1);
    return best;
}

TEST(TextProperties, TheNearestWordIsTheFirstOfLeastDistanceWithinAThird) {
    Draws draws = text_draws(1);
    int found = 0;
    for (int i = 0; i < 3000; ++i) {
        const std::string typed = random_word(draws, 6);
        std::vector<std::string> words;
        for (int k = 0; k < 4; ++k)
            words.push_back(random_word(draws, 6));
        std::optional<std::string> expected;
        std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
        for (const std::string& candidate : words) {
            const std::size_t distance = slow_distance(typed, candidate);
            if (distance >= least) continue;
            least = distance;
            expected = candidate;
        }
        const std::vector<std::string_view> views(words.begin(), words.end());
        const auto close = nearest(typed, views);
        ASSERT_EQ(close.has_value(), expected.has_value()) << typed;
        EXPECT_EQ(close.value_or(""), expected.value_or("")) << typed;
        found += close ? 1 : 0;
    }
    EXPECT_GT(found, 500);
    EXPECT_LT(found, 2900);
}

TEST(TextProperties, SplitAndJoinUndoEachOther) {
    Draws draws = text_draws(2);
    for (int i = 0; i < 1000; ++i) {
        std::string text = random_word(draws, 12);
        std::ranges::replace(text, 'c', ',');
        const auto pieces = split(text, ',');
        EXPECT_EQ(join(pieces, ","), text);
        EXPECT_EQ(pieces.size(), 1U + static_cast<std::size_t>(std::ranges::count(text, ',')));
        for (const std::string_view piece : pieces)
            EXPECT_EQ(piece.find(','), std::string_view::npos);
    }
}

TEST(TextProperties, TrimmingTakesWhiteSpaceFromBothEndsAlone) {
    Draws draws = text_draws(3);
    constexpr std::string_view blanks = " \t\r\n";
    for (int i = 0; i < 500; ++i) {
        const std::string inside = "x" + random_word(draws, 3) + " " + random_word(draws, 3) + "y";
        std::string text = inside;
        for (std::uint64_t k = draws.below(4); k > 0; --k)
            text.insert(text.begin(), blanks[draws.below(4)]);
        for (std::uint64_t k = draws.below(4); k > 0; --k)
            text += blanks[draws.below(4)];
        EXPECT_EQ(trimmed(text), inside);
    }
    EXPECT_EQ(trimmed(" \t\n"), "");
}

TEST(TextProperties, CountsAreTheirDigitsInGroupsOfThree) {
    Draws draws = text_draws(4);
    for (int i = 0; i < 2000; ++i) {
        const std::uint64_t count = draws.below(~std::uint64_t{0} >> 1U) >> draws.below(63);
        std::string text = format_count(count);
        for (std::size_t k = 0; k < text.size(); ++k)
            EXPECT_EQ(text[text.size() - 1 - k] == ',', k % 4 == 3) << text;
        std::erase(text, ',');
        EXPECT_EQ(parse_u64(text), count);
    }
}

TEST(TextProperties, WholeNumbersComeBackAndNothingElseIsOne) {
    Draws draws = text_draws(5);
    for (int i = 0; i < 2000; ++i) {
        const std::uint64_t number =
            (draws.below(~std::uint64_t{0} >> 1U) << 1U) >> draws.below(64);
        const std::string text = std::to_string(number);
        EXPECT_EQ(parse_u64(text), number);
        for (const std::string& wrong :
             {" " + text, text + " ", "-" + text, "+" + text, text + ".0", text + "x", "0x" + text})
            EXPECT_FALSE(parse_u64(wrong)) << wrong;
    }
    EXPECT_EQ(parse_u64("18446744073709551615"), ~std::uint64_t{0});
    EXPECT_FALSE(parse_u64("18446744073709551616"));
    EXPECT_FALSE(parse_u64(""));
}

TEST(TextProperties, NumbersComeBackToTheLastBit) {
    Draws draws = text_draws(6);
    for (int i = 0; i < 2000; ++i) {
        const int exponent = static_cast<int>(draws.below(1200)) - 600;
        const double number = std::ldexp(draws.uniform() - 0.5, exponent);
        EXPECT_EQ(parse_double(fmt::format("{}", number)), number);
        EXPECT_FALSE(parse_double(fmt::format("{} ", number)));
        EXPECT_FALSE(parse_double(fmt::format("{}f", number)));
    }
    for (const char* wrong : {"", "nan", "inf", "-inf", "1e999", "0x10p", "one", "1,5"})
        EXPECT_FALSE(parse_double(wrong)) << wrong;
}

TEST(TextProperties, BytesReadBackWithinTheirDecimal) {
    Draws draws = text_draws(7);
    for (int i = 0; i < 2000; ++i) {
        const std::uint64_t bytes = draws.below(std::uint64_t{1} << 50U) >> draws.below(50);
        const std::string text = format_bytes(bytes);
        const std::size_t space = text.find(' ');
        const auto back = parse_bytes(text.substr(0, space) + text.substr(space + 1));
        ASSERT_TRUE(back) << text;
        // One decimal of a number from 1 to 1024: at most half a tenth away.
        const double error = std::abs(static_cast<double>(*back) - static_cast<double>(bytes));
        EXPECT_LE(error, bytes < 1024 ? 0 : 0.0501 * static_cast<double>(bytes)) << text;
    }
}

TEST(TextProperties, UnitsOfBytesAreThePowersTheySay) {
    std::uint64_t binary = 1;
    std::uint64_t decimal = 1;
    for (const char unit : {'k', 'm', 'g', 't'}) {
        binary *= 1024;
        decimal *= 1000;
        const char large = static_cast<char>(unit - 'a' + 'A');
        for (const char letter : {unit, large}) {
            EXPECT_EQ(parse_bytes(fmt::format("3{}", letter)), 3 * binary);
            EXPECT_EQ(parse_bytes(fmt::format("3{}i", letter)), 3 * binary);
            EXPECT_EQ(parse_bytes(fmt::format("3{}iB", letter)), 3 * binary);
            EXPECT_EQ(parse_bytes(fmt::format("3{}B", letter)), 3 * decimal);
            EXPECT_EQ(parse_bytes(fmt::format("0.5{}ib", letter)), binary / 2);
            EXPECT_FALSE(parse_bytes(fmt::format("3{}x", letter)));
            EXPECT_FALSE(parse_bytes(fmt::format("-3{}", letter)));
        }
    }
    for (const char* wrong : {"", "b", "k", "3 k", "nan", "1e30", "99999999t", "3bb"})
        EXPECT_FALSE(parse_bytes(wrong)) << wrong;
}

}  // namespace
}  // namespace rudder::test
