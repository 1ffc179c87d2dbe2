// How policies are written, and what is refused.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/buffer/knobs.hpp"
#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"
#include "rudder/core/text.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

void refuse(const std::string& text, std::initializer_list<const char*> words) {
    try {
        const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
        FAIL() << text << " was taken as " << spec.text();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 2) << text;
        EXPECT_FALSE(error.remedy().empty());
        for (const char* word : words)
            EXPECT_THAT(error.what(), HasSubstr(word)) << text;
    }
}

TEST(PolicySpecs, AreWrittenAsTheyAreRead) {
    for (const char* text :
         {"none", "static-degree", "static-random", "static-random,seed:7", "static-vip", "lru",
          "lfu", "clock", "periodic", "periodic,alpha:0.05,delta:8", "scored-faithful",
          "scored-faithful,every:4", "scored-faithful,listed", "scored", "scored,every:16",
          "scored,every:16,decay:0.9,fraction:0.5", "window:16", "window:8,distance:0", "optimal"})
        EXPECT_EQ(buffer::PolicySpec::parse(text).text(), text);
    EXPECT_EQ(buffer::PolicySpec::parse("window").text(), "window:16");
    EXPECT_EQ(buffer::PolicySpec::parse("window"), buffer::PolicySpec::parse("window:16"));
    EXPECT_EQ(buffer::PolicySpec::parse("window,distance:1,window:8").text(),
              "window:8,distance:1");
    EXPECT_EQ(buffer::PolicySpec::parse("periodic,delta:8,alpha:0.050").text(),
              "periodic,alpha:0.05,delta:8");
}

TEST(PolicySpecs, DefaultsAreThoseOfTheDesign) {
    EXPECT_EQ(buffer::PolicySpec::parse("periodic").number("alpha"), 0.05);
    EXPECT_EQ(buffer::PolicySpec::parse("periodic").whole("delta"), 8U);
    EXPECT_EQ(buffer::PolicySpec::parse("window").whole("window"), 16U);
    EXPECT_EQ(buffer::built_in_rule(buffer::PolicySpec::parse("scored")).text(), "scored,every:16");
    EXPECT_EQ(buffer::built_in_rule(buffer::PolicySpec::parse("scored,every:4")).text(),
              "scored,every:4");
    EXPECT_EQ(buffer::built_in_rule(buffer::PolicySpec::parse("window")).text(), "window:16");
    for (const char* text : {"periodic", "scored,every:2", "scored-faithful,listed"})
        EXPECT_TRUE(buffer::has_own_signal(buffer::PolicySpec::parse(text))) << text;
    for (const char* text : {"scored", "window", "lru", "scored-faithful"})
        EXPECT_FALSE(buffer::has_own_signal(buffer::PolicySpec::parse(text))) << text;
}

TEST(PolicySpecs, RefuseWhatIsUnknownAndListTheKnown) {
    refuse("winodw", {"unknown policy 'winodw'", "did you mean 'window'", "static-degree"});
    refuse("", {"unknown policy ''", "optimal"});
    refuse("scored,evry:4", {"no parameter 'evry'", "did you mean 'every'", "decay", "fraction"});
    refuse("lru,every:4", {"no parameter 'every'", "'lru' has no parameters"});
    refuse("lru:4", {"takes no value"});
    refuse("scored,", {"no parameter ''"});
}

TEST(PolicySpecs, RefuseWhatIsOutOfRange) {
    refuse("window:0", {"invalid value for 'window' of policy 'window': '0'", "from 1"});
    refuse("window:1.5", {"whole number"});
    refuse("window:", {"invalid value for 'window'", "''"});
    refuse("window:x", {"'window': 'x'"});
    refuse("window:-3", {"-3"});
    refuse("periodic,alpha:0", {"above 0"});
    refuse("periodic,alpha:1", {"below 1"});
    refuse("periodic,alpha:nan", {"nan"});
    refuse("periodic,delta:0", {"'delta'"});
    refuse("scored,every:0", {"'every'"});
    refuse("scored,decay:1.5", {"'decay'"});
    refuse("scored,every", {"needs a value"});
    refuse("scored-faithful,listed:1", {"takes no value"});
    refuse("scored-faithful,listed,every:2", {"two signals"});
    refuse("scored,every:2,every:3", {"twice"});
    refuse("window:8,window:9", {"twice"});
}

TEST(PolicySpecs, TwoDifferentWindowsAreRefused) {
    buffer::PolicySpec spec = buffer::PolicySpec::parse("window");
    buffer::apply_window(spec, 32);
    EXPECT_EQ(spec.text(), "window:32");
    buffer::apply_window(spec, 32);
    EXPECT_THROW(buffer::apply_window(spec, 16), Error);
    buffer::PolicySpec other = buffer::PolicySpec::parse("lru");
    buffer::apply_window(other, 32);
    EXPECT_EQ(other.text(), "lru");
    buffer::PolicySpec fresh = buffer::PolicySpec::parse("window");
    EXPECT_THROW(buffer::apply_window(fresh, 0), Error);
}

TEST(PolicySpecs, FetchEarlyByTheirDistanceOrByWhatTheirWindowAllows) {
    const auto distance = [](const char* text) {
        return buffer::distance_of(buffer::PolicySpec::parse(text));
    };
    EXPECT_EQ(distance("lru"), 0U);
    EXPECT_EQ(distance("window:1"), 0U);
    EXPECT_EQ(distance("window:8"), 1U);
    EXPECT_EQ(distance("window:16"), 2U);
    EXPECT_EQ(distance("window:64"), 2U);
    EXPECT_EQ(distance("window:64,distance:8"), 8U);
    EXPECT_EQ(distance("window:4,distance:8"), 2U);
}

TEST(PolicySpecs, EveryPolicySaysWhatItDoesAndWhereItIsFrom) {
    EXPECT_EQ(buffer::all_policies().size(), 12U);
    for (const buffer::PolicyInfo* info : buffer::all_policies()) {
        EXPECT_TRUE(info->sentence.ends_with('.')) << info->name;
        EXPECT_EQ(std::count(info->sentence.begin(), info->sentence.end(), '.'), 1) << info->name;
        EXPECT_FALSE(info->paper.empty());
    }
}

/// A value of a parameter's range.
double drawn_value(Draws& draws, const SpecParameter& p) {
    if (p.kind == ParameterKind::flag) return 1;
    const double most = std::min(p.maximum, 1000.0);
    if (p.kind == ParameterKind::whole)
        return p.minimum + static_cast<double>(draws.below(static_cast<std::uint64_t>(most)));
    return p.minimum + (most - p.minimum) * (0.001 + 0.998 * draws.uniform());
}

/// A policy with some of its parameters.
buffer::PolicySpec drawn_spec(Draws& draws) {
    const auto all = buffer::all_policies();
    buffer::PolicySpec spec(*all[draws.below(all.size())]);
    for (const SpecParameter& p : spec.info().parameters) {
        const bool signals = p.name == "listed" && spec.given("every");
        if (!signals && draws.below(2) == 0) spec.set(p.name, drawn_value(draws, p));
    }
    return spec;
}

TEST(PolicySpecs, AnySpecIsReadBackEqual) {
    const RandomStream stream({Purpose::test, 1, 71});
    Draws draws(stream, 0);
    for (int i = 0; i < 500; ++i) {
        const buffer::PolicySpec spec = drawn_spec(draws);
        const buffer::PolicySpec back = buffer::PolicySpec::parse(spec.text());
        ASSERT_EQ(back, spec) << spec.text();
        ASSERT_EQ(back.text(), spec.text());
        for (const SpecParameter& p : spec.info().parameters) {
            ASSERT_EQ(back.number(p.name), spec.number(p.name)) << spec.text();
            if (p.name != "window") {
                ASSERT_EQ(back.given(p.name), spec.given(p.name)) << spec.text();
            }
        }
    }
}

TEST(PolicySpecs, AreEqualIfAndOnlyIfTheirTextsAre) {
    const RandomStream stream({Purpose::test, 2, 71});
    Draws draws(stream, 0);
    std::vector<buffer::PolicySpec> drawn;
    for (int i = 0; i < 60; ++i) {
        drawn.push_back(drawn_spec(draws));
        if (i % 3 == 0) drawn.push_back(buffer::PolicySpec::parse(drawn.back().text()));
    }
    for (const buffer::PolicySpec& a : drawn) {
        for (const buffer::PolicySpec& b : drawn)
            ASSERT_EQ(a == b, a.text() == b.text()) << a.text() << ' ' << b.text();
    }
}

TEST(PolicySpecs, TheOrderOfKeysDoesNotMatter) {
    const RandomStream stream({Purpose::test, 3, 71});
    Draws draws(stream, 0);
    for (int i = 0; i < 200; ++i) {
        const buffer::PolicySpec spec = drawn_spec(draws);
        std::vector<std::string_view> words;
        const std::string text = spec.text();
        for (const std::string_view word : split(text, ','))
            words.push_back(word);
        for (std::size_t w = words.size(); w > 2; --w)
            std::swap(words[w - 1], words[1 + draws.below(w - 1)]);
        EXPECT_EQ(buffer::PolicySpec::parse(join(words, ",")), spec) << text;
    }
}

TEST(PolicySpecs, AnyTextIsReadOrRefused) {
    const RandomStream stream({Purpose::test, 4, 71});
    Draws draws(stream, 0);
    constexpr std::string_view letters = "windoscrel:,+-.0123456789 ";
    for (int i = 0; i < 3000; ++i) {
        std::string text = draws.below(2) == 0 ? "" : drawn_spec(draws).text();
        for (std::uint64_t n = draws.below(8); n-- > 0;) {
            const char letter = letters[draws.below(letters.size())];
            if (text.empty() || draws.below(3) == 0) {
                text.insert(
                    text.begin() + static_cast<std::ptrdiff_t>(draws.below(text.size() + 1)),
                    letter);
            } else {
                text[draws.below(text.size())] = letter;
            }
        }
        try {
            const buffer::PolicySpec spec = buffer::PolicySpec::parse(text, "here");
            ASSERT_EQ(buffer::PolicySpec::parse(spec.text()), spec) << text;
        } catch (const Error& error) {
            ASSERT_EQ(error.kind(), ErrorKind::usage) << text;
            ASSERT_EQ(error.where(), "here");
            ASSERT_FALSE(error.remedy().empty()) << text;
        }
    }
}

TEST(PolicySpecs, SettingIsCheckedLikeParsing) {
    buffer::PolicySpec spec = buffer::PolicySpec::parse("scored");
    for (const double value : {-1.0, 0.0, 1.5, std::nan(""), 1e300}) {
        EXPECT_THROW(spec.set("decay", value), Error) << value;
        EXPECT_FALSE(spec.given("decay"));
    }
    EXPECT_THROW(spec.set("window", 4), Error);
    EXPECT_THROW(static_cast<void>(spec.number("window")), InternalError);
    EXPECT_FALSE(spec.has("window"));
    EXPECT_FALSE(spec.given("window"));
    spec.set("every", 4);
    spec.set("every", 8);  // a second time is fine here
    EXPECT_EQ(spec, buffer::PolicySpec::parse("scored,every:8"));
    EXPECT_NE(spec, buffer::PolicySpec::parse("scored"));
    EXPECT_NE(buffer::PolicySpec::parse("lru"), buffer::PolicySpec::parse("lfu"));
    // A default that is given is not the same as none, but for the value in the name.
    EXPECT_NE(buffer::PolicySpec::parse("scored,decay:0.99"), buffer::PolicySpec::parse("scored"));
    EXPECT_EQ(buffer::PolicySpec::parse("window:16"), buffer::PolicySpec::parse("window"));
    EXPECT_NE(buffer::PolicySpec::parse("window:17"), buffer::PolicySpec::parse("window"));
}

TEST(PolicySpecs, EveryParameterSaysWhatItIs) {
    for (const buffer::PolicyInfo* info : buffer::all_policies()) {
        for (const SpecParameter& p : info->parameters) {
            EXPECT_GT(p.help.size(), 8U) << info->name << ' ' << p.name;
            EXPECT_LE(p.minimum, p.maximum) << info->name << ' ' << p.name;
            if (!p.fallback) continue;
            buffer::PolicySpec spec(*info);
            EXPECT_EQ(spec.number(p.name), *p.fallback);
            EXPECT_NO_THROW(spec.set(p.name, *p.fallback)) << info->name << ' ' << p.name;
        }
    }
}

}  // namespace
}  // namespace rudder::test
