// Text to tokens, against a slow body that looks at all neighbours again after every join.
#include "steer/llm/local/vocabulary.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "random_model.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using steer::TokenId;
using steer::Vocabulary;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<TokenId> slow_tokens(const std::vector<std::string>& pieces, const std::string& text) {
    std::string signs;
    for (const char c : text)
        signs += c == ' ' ? std::string("\xE2\x96\x81") : std::string(1, c);
    std::vector<std::string> parts;
    for (std::size_t at = 0; at < signs.size();) {
        const auto first = static_cast<unsigned char>(signs[at]);
        const std::size_t size = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        parts.push_back(signs.substr(at, size));
        at += size;
    }
    const auto place = [&](const std::string& piece) {
        return std::find(pieces.begin() + Vocabulary::first_piece, pieces.end(), piece);
    };
    while (true) {
        auto best = pieces.end();
        std::size_t where = 0;
        for (std::size_t i = 1; i < parts.size(); ++i) {
            const auto found = place(parts[i - 1] + parts[i]);
            if (found >= best) continue;
            best = found;
            where = i;
        }
        if (best == pieces.end()) break;
        parts[where - 1] += parts[where];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(where));
    }
    std::vector<TokenId> tokens;
    for (const std::string& part : parts) {
        if (const auto found = place(part); found != pieces.end()) {
            tokens.push_back(static_cast<TokenId>(found - pieces.begin()));
            continue;
        }
        for (const char c : part)
            tokens.push_back(Vocabulary::first_byte + static_cast<unsigned char>(c));
    }
    return tokens;
}

const std::vector<std::string> letters{
    "a",    "b",    "c", " ", "\n", "7", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
    "\xFF", "\xC3", "."};

std::string random_text(Draws& draws, std::size_t most) {
    std::string text;
    for (std::uint64_t length = draws.below(most); length > 0; --length)
        text += letters[draws.below(letters.size())];
    return text;
}

/// Joins of each other, so that there are many ways to go on; in any order.
std::vector<std::string> random_pieces(Draws& draws) {
    std::vector<std::string> parts{"a", "b", "c", "\xE2\x96\x81", "\n", "\xC3\xA9"};
    std::set<std::string> all;
    for (std::uint64_t joins = draws.below(40); joins > 0; --joins) {
        parts.push_back(parts[draws.below(parts.size())] + parts[draws.below(parts.size())]);
        if (parts.back().size() <= 40) all.insert(parts.back());
    }
    for (const char* single : {"a", "7", "\xE2\x96\x81", "\xE2\x82\xAC"})
        if (draws.below(2) == 0) all.insert(single);
    std::vector<std::string> pieces(all.begin(), all.end());
    for (std::size_t i = pieces.size(); i > 1; --i)
        std::swap(pieces[i - 1], pieces[draws.below(i)]);
    return pieces;
}

TEST(ModelVocabulary, TokensAreThoseOfTheSlowBody) {
    std::size_t joined = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
        const std::vector<std::string> pieces = pieces_with(random_pieces(draws));
        const Vocabulary vocabulary(pieces, "the test");
        for (int repeat = 0; repeat < 20; ++repeat) {
            const std::string text = random_text(draws, 60);
            const auto tokens = vocabulary.tokens(text);
            ASSERT_EQ(tokens, slow_tokens(pieces, text)) << seed << ": " << text;
            joined += static_cast<std::size_t>(text.size() > tokens.size());
        }
    }
    EXPECT_GT(joined, 1000U);
}

TEST(ModelVocabulary, TokensSpellTheText) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 5}), 0);
    std::vector<std::string> pieces = random_pieces(draws);
    const std::string sign = "\xE2\x96\x81";
    if (std::ranges::find(pieces, sign) == pieces.end()) pieces.push_back(sign);
    const Vocabulary vocabulary(pieces_with(pieces), "the test");
    for (int repeat = 0; repeat < 200; ++repeat) {
        const std::string text = random_text(draws, 200);
        std::string spelt;
        for (const TokenId token : vocabulary.tokens(text)) {
            EXPECT_GE(token, Vocabulary::first_byte) << "no text stands for a control";
            spelt += vocabulary.bytes(token);
        }
        // A cut character may take the first byte of a space's sign, which then stays as it is.
        for (std::size_t at = spelt.find(sign); at != std::string::npos; at = spelt.find(sign))
            spelt.replace(at, sign.size(), " ");
        EXPECT_EQ(spelt, text);
    }
}

TEST(ModelVocabulary, EarlierPiecesAreJoinedFirstAndTheLeftmostOfEqualOnes) {
    const TokenId p = Vocabulary::first_piece;
    const Vocabulary one(pieces_with({"bc", "ab", "a", "b", "c"}), "the test");
    EXPECT_THAT(one.tokens("abc"), ElementsAre(p + 2, p));
    const Vocabulary two(pieces_with({"ab", "bc", "aa", "a", "b", "c"}), "the test");
    EXPECT_THAT(two.tokens("abc"), ElementsAre(p, p + 5));
    EXPECT_THAT(two.tokens("aaa"), ElementsAre(p + 2, p + 3));
    // What looks like a control, or like a byte, is text.
    EXPECT_EQ(two.tokens("<|end|>").size(), 7U);
    EXPECT_EQ(two.tokens("<0x41>").size(), 6U);
    EXPECT_THAT(two.tokens(""), ElementsAre());
}

// Would take hours if every join looked at the whole text again.
TEST(ModelVocabulary, LongTextsTakeNoLongerPerByte) {
    std::vector<std::string> pieces;
    for (std::string piece = "aa"; piece.size() <= 1024; piece += piece)
        pieces.push_back(piece);
    pieces.push_back("a");
    const Vocabulary vocabulary(pieces_with(pieces), "the test");
    EXPECT_EQ(vocabulary.tokens(std::string(std::size_t{1} << 20U, 'a')).size(), 1024U);
}

TEST(ModelVocabulary, WhatWillNotDoIsNamed) {
    const auto problem = [](const std::vector<std::string>& pieces) {
        const Refusal refusal =
            refusal_of([&] { const Vocabulary made(pieces, "model.safetensors"); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        EXPECT_EQ(refusal.where, "model.safetensors");
        return refusal.problem;
    };
    EXPECT_THAT(problem(pieces_with({"ab", "ab"})), HasSubstr("token 264 is repeated"));
    EXPECT_THAT(problem(pieces_with({""})), HasSubstr("token 263 is empty"));
    EXPECT_THAT(problem(pieces_with({"a b"})), HasSubstr("has a space"));
    EXPECT_THAT(problem(pieces_with({"7", "a7"})), HasSubstr("token 264 joins a digit"));
    EXPECT_THAT(problem(pieces_with({std::string(5000, 'a')})), HasSubstr("too long"));
    std::vector<std::string> fewer = fixed_pieces();
    fewer.pop_back();
    EXPECT_THAT(problem(fewer), HasSubstr("token 262 is missing"));
    for (const TokenId token : {0U, 6U, 7U, 262U}) {
        std::vector<std::string> other = fixed_pieces();
        other[token] = "other";
        EXPECT_THAT(problem(other), HasSubstr("must be " + Vocabulary::fixed_name(token)));
    }
}

}  // namespace
}  // namespace rudder::test
