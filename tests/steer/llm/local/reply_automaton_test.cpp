// Only replies that can be used can be written: by ranges, by keys, and 10,000 at random.
#include "steer/llm/local/reply_automaton.hpp"

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "steer/llm/faithful.hpp"
#include "steer/llm/local/built_in_model.hpp"
#include "steer/llm/local/reply_writer.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/reply.hpp"

#include "../seen.hpp"
#include "random_model.hpp"

namespace rudder::test {
namespace {

using steer::ReplyAutomaton;

bool takes(const ReplyAutomaton& automaton, std::string_view text) {
    ReplyAutomaton::State state = ReplyAutomaton::start;
    for (const char byte : text) {
        state = automaton.next(state, static_cast<std::uint8_t>(byte));
        if (state == ReplyAutomaton::none) return false;
    }
    return automaton.whole(state);
}

TEST(ReplyAutomaton, TakesTheNumbersOfARangeAndNoOthers) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 2}), 0);
    for (int repeat = 0; repeat < 300; ++repeat) {
        const auto draw = [&] {
            return static_cast<std::int64_t>(draws.below(repeat % 2 == 0 ? 30 : 1300)) -
                   (repeat % 3 == 0 ? 20 : 0);
        };
        const std::int64_t a = draw();
        const std::int64_t b = draw();
        const Json schema{
            {"type", "integer"}, {"minimum", std::min(a, b)}, {"maximum", std::max(a, b)}};
        const ReplyAutomaton automaton(schema);
        for (std::int64_t n = -50; n < 1500; ++n) {
            const std::string text = std::to_string(n);
            ASSERT_EQ(takes(automaton, text), n >= std::min(a, b) && n <= std::max(a, b))
                << n << " of " << schema.dump();
            ASSERT_FALSE(takes(automaton, "0" + text));
        }
        for (const char* other : {"", "-", "-0", "1.0", "1e1", " 1", "+1"})
            ASSERT_FALSE(takes(automaton, other)) << other;
    }
    const Json wide{{"type", "integer"}, {"minimum", 7}, {"maximum", 9007199254740993}};
    EXPECT_TRUE(takes(ReplyAutomaton(wide), "9007199254740993"));
    EXPECT_FALSE(takes(ReplyAutomaton(wide), "9007199254740994"));
    EXPECT_FALSE(takes(ReplyAutomaton(wide), "6"));
}

TEST(ReplyAutomaton, TakesOptionalKeysInTheirOrder) {
    const ReplyAutomaton automaton(Json::parse(R"({"type": "object", "properties": {
        "a": {"enum": [1, 12, "1"]}, "b": {"const": "x\"y"}, "c": {"enum": [0.5, 1.0]}},
        "required": ["b"], "additionalProperties": false})"));
    for (const char* good : {R"({"b":"x\"y"})", R"({"a":1,"b":"x\"y"})",
                             R"({"a":12,"b":"x\"y","c":1.0})", R"({"a":"1","b":"x\"y","c":0.5})"})
        EXPECT_TRUE(takes(automaton, good)) << good;
    for (const char* bad : {R"({})", R"({"a":1})", R"({"b":"x\"y","a":1})", R"({,"b":"x\"y"})",
                            R"({"b":"x\"y",})", R"({"b": "x\"y"})", R"({"b":"x\"y"}})",
                            R"({"a":2,"b":"x\"y"})", R"({"a":1,"a":1,"b":"x\"y"})"})
        EXPECT_FALSE(takes(automaton, bad)) << bad;
}

TEST(ReplyAutomaton, TakesTheCompactFormOfWhatOurSchemasAllow) {
    const steer::Observation o = seen(160);
    const ReplyAutomaton automaton(reply_schema(o, some_facts().built_in));
    for (
        const char* good :
        {R"({"action":"keep"})", R"({"action":"keep","reason":"good_enough"})",
         R"({"action":"replace"})", R"({"action":"replace","fraction":0.25,"reason":"ending"})",
         R"({"action":"set","knobs":{"policy":"window:16","capacity":1200}})",
         R"({"action":"set","knobs":{"capacity":7},"expected_impact":{"hit_rate":"increase","rows":"stagnant"}})"})
        EXPECT_TRUE(takes(automaton, good)) << good;
    for (const char* bad :
         {R"({"action":"evict"})", R"({"action":"set"})", R"({"action":"set","knobs":{}})",
          R"({"action":"set","knobs":{"capacity":1201}})", R"({"action":"keep","fraction":0.5})",
          R"({"action":"set","knobs":{"capacity":7,"policy":"lru"}})",
          R"({"action":"replace","fraction":0.3})"})
        EXPECT_FALSE(takes(automaton, bad)) << bad;
}

/// What a run may look like, at random.
steer::Observation random_observation(Draws& draws) {
    static const std::vector<const char*> policies{"none",
                                                   "static-degree",
                                                   "lru",
                                                   "lfu",
                                                   "clock",
                                                   "scored",
                                                   "scored,every:16",
                                                   "window:8",
                                                   "window:64",
                                                   "scored-faithful",
                                                   "periodic,alpha:0.05,delta:8",
                                                   "scored,decay:0.9"};
    steer::Observation o = seen(16 * (1 + draws.below(100)));
    o.limits.slots = 1 + draws.below(draws.below(2) == 0 ? 20 : 2000000000);
    o.limits.window = 1 + draws.below(200);
    o.limits.sample_threads = 1 + draws.below(12);
    o.limits.fetch_threads = 1 + draws.below(12);
    o.setting.policy = buffer::PolicySpec::parse(policies[draws.below(policies.size())]);
    o.setting.capacity = 1 + draws.below(o.limits.slots);
    o.takes_decisions = draws.below(2) == 0;
    return o;
}

/// Pieces of every sort that might go beyond what may be said.
std::vector<std::string> reply_pieces() {
    return pieces_with({"{\"",
                        "\":\"",
                        "action",
                        "{\"action\":\"",
                        "keep",
                        "keep\"",
                        "\"}",
                        "\"}}",
                        "set\",\"knobs\":{\"",
                        "replace",
                        ",\"",
                        "reason\":\"",
                        "policy",
                        "window",
                        "in",
                        "crease",
                        "increase\",\"rows\":\"",
                        "}}",
                        "0",
                        "1",
                        "9",
                        ".",
                        ",",
                        "\xE2\x96\x81",
                        "cap",
                        "acity",
                        "capacity\":",
                        "e"});
}

/// A reply whose tokens are drawn evenly among those allowed.
std::string drawn_reply(const steer::Vocabulary& vocabulary, const ReplyAutomaton& automaton,
                        std::uint64_t most, Draws& draws) {
    steer::ReplyWriter writer(vocabulary, automaton, most);
    std::uint64_t tokens = 0;
    while (!writer.done()) {
        writer.take(writer.allowed()[draws.below(writer.allowed().size())]);
        ++tokens;
    }
    EXPECT_LE(tokens, most);
    return writer.text();
}

/// Forty replies at random to each of so many schemas: all can be used. How many that were.
std::size_t usable_replies(const steer::Vocabulary& vocabulary, std::uint64_t seed, int schemas) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
    const buffer::PolicySpec built_in = buffer::PolicySpec::parse("scored,every:16");
    std::size_t valid = 0;
    std::map<steer::ActionKind, std::size_t> kinds;
    std::map<std::size_t, std::size_t> knobs;
    std::size_t forecasts = 0;
    while (schemas-- > 0) {
        const steer::Observation o = random_observation(draws);
        const Json schema = reply_schema(o, built_in);
        const ReplyAutomaton automaton(schema);
        for (int repeat = 0; repeat < 40; ++repeat) {
            const std::uint64_t least = steer::ReplyWriter::least_tokens(automaton);
            const std::uint64_t most = least + (repeat % 4 == 0 ? draws.below(60) : 500);
            const std::string text = drawn_reply(vocabulary, automaton, most, draws);
            try {
                const steer::ModelReply reply = parse_reply(text, schema, o, "the test");
                ++valid;
                ++kinds[reply.action.kind];
                ++knobs[reply.action.knobs.size()];
                forecasts += static_cast<std::size_t>(reply.forecast.has_value());
            } catch (const Error& error) {
                ADD_FAILURE() << text << "\n" << error.what();
            }
        }
    }
    EXPECT_EQ(kinds.size(), 3U) << "all sorts of replies were among them";
    EXPECT_GT(knobs.size(), 3U);
    EXPECT_GT(forecasts, valid / 50);
    return valid;
}

TEST(ReplyWriter, TenThousandRepliesAtRandomCanAllBeUsed) {
    const steer::Vocabulary vocabulary(reply_pieces(), "the test");
    EXPECT_EQ(usable_replies(vocabulary, 1, 250), 10000U);
}

TEST(LongReplyWriter, HundredThousandOfTheBuiltInModelCanAllBeUsed) {
    const steer::Vocabulary vocabulary(steer::built_in_model().pieces, "built-in");
    EXPECT_EQ(usable_replies(vocabulary, 2, 2500), 100000U);
}

TEST(ReplyWriter, PublishedRepliesAtRandomCanAllBeUsed) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 6}), 0);
    const steer::Vocabulary vocabulary(reply_pieces(), "the test");
    const ReplyAutomaton automaton(steer::PublishedProtocol::schema());
    steer::PublishedProtocol protocol(some_facts());
    for (int repeat = 0; repeat < 500; ++repeat) {
        const std::string text =
            drawn_reply(vocabulary, automaton, repeat < 250 ? 110 : 600, draws);
        EXPECT_NO_THROW(static_cast<void>(protocol.parse(text, seen(16), "the test"))) << text;
    }
}

TEST(ReplyWriter, AllowedAreExactlyTheTokensThatCanGoOn) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 4}), 0);
    const steer::Vocabulary vocabulary(reply_pieces(), "the test");
    const ReplyAutomaton automaton(reply_schema(seen(160), some_facts().built_in));
    for (std::uint64_t repeat = 0; repeat < 60; ++repeat) {
        // From hardly enough tokens to more than are ever needed.
        std::uint64_t left = steer::ReplyWriter::least_tokens(automaton) + repeat * repeat / 8;
        steer::ReplyWriter writer(vocabulary, automaton, left);
        ReplyAutomaton::State state = ReplyAutomaton::start;
        while (!writer.done()) {
            std::vector<steer::TokenId> slow;
            for (steer::TokenId token = 0; token < vocabulary.size(); ++token) {
                ReplyAutomaton::State at = state;
                for (const char byte : vocabulary.bytes(token)) {
                    if (at != ReplyAutomaton::none)
                        at = automaton.next(at, static_cast<std::uint8_t>(byte));
                }
                const bool on = !vocabulary.bytes(token).empty() && at != ReplyAutomaton::none;
                if (on && automaton.bytes_left(at) + 1 <= left) slow.push_back(token);
            }
            ASSERT_EQ(std::vector(writer.allowed().begin(), writer.allowed().end()), slow);
            const steer::TokenId token = slow[draws.below(slow.size())];
            for (const char byte : vocabulary.bytes(token))
                state = automaton.next(state, static_cast<std::uint8_t>(byte));
            writer.take(token);
            --left;
        }
        EXPECT_TRUE(automaton.whole(state));
    }
}

}  // namespace
}  // namespace rudder::test
