// Specs of a family of their own: every kind of parameter, there and back, and every wrong input.
// input.
#include "rudder/core/spec.hpp"

#include <array>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/spec_registry.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"

#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

constexpr std::array<std::string_view, 3> speeds{"slow", "fast", "faster"};

constexpr std::array<SpecParameter, 5> parameters{{
    {"size", ParameterKind::whole, 1, 100, 16, "number of things"},
    {"rate", ParameterKind::real, 0, 1, 0.5, "share of things", /*above_minimum=*/true,
     /*below_maximum=*/true},
    {"loud", ParameterKind::flag, 0, 0, {}, "says so"},
    {"speed", ParameterKind::word, 0, 0, {}, "how soon", false, false, speeds, "slow"},
    {"from", ParameterKind::file, 0, 0, {}, "where it lies"},
}};
constexpr std::array<SpecParameter, 2> joined{
    {{"members", ParameterKind::specs, 0, 0, {}, "others"},
     {"every", ParameterKind::whole, 1, 9, 2, "steps between"}}};

const SpecInfo plain_info{"plain", "Has nothing."};
const SpecInfo rich_info{"rich", "Has one of each.", parameters, SpecValue::optional};
const SpecInfo shown_info{"shown", "Shows its value.", parameters, SpecValue::shown};
const SpecInfo needy_info{"needy", "Needs a value.", parameters, SpecValue::required};
const SpecInfo mixed_info{"mixed", "Has members.", joined, SpecValue::required};

const SpecFamily thing_family{
    "thing",
    [](std::string_view name, const std::string& where) -> const auto& {using Make = void();
static constexpr auto* make = +[] {};
static const SpecRegistry<SpecInfo, Make> known{{&plain_info, make},
                                                {&rich_info, make},
                                                {&shown_info, make},
                                                {&needy_info, make},
                                                {&mixed_info, make}};
return known.find("thing", name, where);
}  // namespace
};  // namespace rudder::test

Spec parsed_spec(std::string_view text) {
    return Spec::parse(thing_family, text, "here");
}

void refuse_spec(std::string_view text, std::initializer_list<const char*> words) {
    SCOPED_TRACE(text);
    const Refusal refusal = refusal_of([&] { static_cast<void>(parsed_spec(text)); });
    EXPECT_EQ(refusal.kind, ErrorKind::usage);
    EXPECT_EQ(refusal.where, "here");
    for (const char* word : words)
        EXPECT_THAT(refusal.problem + "; " + refusal.remedy, HasSubstr(word));
}

TEST(Specs, ValuesComeByNameOrByDefault) {
    const Spec spec = parsed_spec("rich:20,loud,speed:fast");
    EXPECT_EQ(spec.name(), "rich");
    EXPECT_EQ(spec.whole("size"), 20U);
    EXPECT_EQ(spec.number("rate"), 0.5);
    EXPECT_EQ(spec.number("loud"), 1);
    EXPECT_EQ(spec.text("speed"), "fast");
    EXPECT_EQ(spec.text("from"), "");
    EXPECT_TRUE(spec.given("size") && spec.given("loud") && spec.has("rate"));
    EXPECT_FALSE(spec.given("rate") || spec.has("colour") || spec.given("colour"));
    EXPECT_EQ(parsed_spec("rich").text("speed"), "slow");
    EXPECT_EQ(parsed_spec("rich").number("loud"), 0);
}

/// A random spec: what is given, and its canonical text.
struct Drawn {
    std::map<std::string, std::string> given;
    std::string text;

    explicit Drawn(Draws& draws) : text("rich") {
        const auto add = [&](const std::string& key, const std::string& value, bool first) {
            given[key] = value;
            text += (first ? ":" : "," + key + (value.empty() ? "" : ":")) + value;
        };
        if (draws.below(2) == 1) add("size", std::to_string(1 + draws.below(100)), true);
        if (draws.below(2) == 1)
            add("rate", fmt::format("{}", static_cast<double>(1 + draws.below(511)) / 512), false);
        if (draws.below(2) == 1) add("loud", "", false);
        if (draws.below(2) == 1) add("speed", std::string(speeds.at(draws.below(3))), false);
        if (draws.below(2) == 1) add("from", fmt::format("a/b-{}.c", draws.below(9)), false);
    }
    /// The same in some other order of keys, the value under its name.
    [[nodiscard]] std::string shuffled(Draws& draws) const {
        std::vector<std::string> words;
        for (const auto& [key, value] : given)
            words.push_back(value.empty() ? key : key + ":" + value);
        for (std::size_t i = words.size(); i > 1; --i)
            std::swap(words[i - 1], words[draws.below(i)]);
        std::string out = "rich";
        for (const std::string& word : words)
            out += "," + word;
        return out;
    }
};

TEST(Specs, AnyOrderGivesOneTextAndTheSameValues) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 1}), 0);
    Spec last = parsed_spec("rich");
    std::string last_text = "rich";
    for (int i = 0; i < 500; ++i) {
        const Drawn drawn(draws);
        const Spec spec = parsed_spec(drawn.shuffled(draws));
        EXPECT_EQ(spec.text(), drawn.text);
        EXPECT_EQ(parsed_spec(spec.text()), spec);
        for (const SpecParameter& p : parameters)
            EXPECT_EQ(spec.given(p.name), drawn.given.contains(std::string(p.name))) << p.name;
        EXPECT_EQ(spec == last, drawn.text == last_text);
        last = spec;
        last_text = drawn.text;
    }
}

TEST(Specs, EveryParameterRefusesWhatIsOutOfItsRange) {
    for (const char* value : {"0", "101", "1.5", "-1", "many", "", "nan", "1e99"})
        refuse_spec(fmt::format("rich:{}", value),
                    {"'size' of thing 'rich'", "from 1 and up to 100"});
    for (const char* value : {"0", "1", "-0.5", "2", "inf", "x"})
        refuse_spec(fmt::format("rich,rate:{}", value), {"'rate'", "above 0 and below 1"});
    for (const char* value : {"1", "true", ""})
        refuse_spec(fmt::format("rich,loud:{}", value), {"'loud' of thing 'rich' takes no value"});
    for (const char* value : {"slower", "Fast", ""})
        refuse_spec(fmt::format("rich,speed:{}", value), {"'speed'", "one of slow, fast, faster"});
    refuse_spec("rich,from:", {"'from'", "a file"});
    for (const char* key : {"size", "rate", "speed", "from"})
        refuse_spec(fmt::format("rich,{}", key), {"needs a value", key});
    EXPECT_NO_THROW(static_cast<void>(parsed_spec("rich:1,rate:0.000001")));
    EXPECT_NO_THROW(static_cast<void>(parsed_spec("rich:100,rate:0.999999")));
}

TEST(Specs, UnknownNamesKeysAndDoubledOnesAreNamed) {
    refuse_spec("rihc", {"unknown thing 'rihc'", "did you mean 'rich'?", "plain, rich, shown"});
    refuse_spec("", {"unknown thing ''", "use one of plain"});
    refuse_spec("rich,sped:fast", {"has no parameter 'sped'", "did you mean 'speed'?"});
    refuse_spec("rich,xyzzy:1", {"'xyzzy'", "takes size (a whole number", "loud (no value)"});
    refuse_spec("rich:2,size:3", {"'size' of thing 'rich' is given twice"});
    refuse_spec("rich,loud,loud", {"given twice"});
    refuse_spec("plain:3", {"thing 'plain' takes no value of its own", "has no parameters"});
    refuse_spec("plain,size:3", {"has no parameter 'size'"});
    refuse_spec("needy", {"thing 'needy' needs a value", "write needy:VALUE"});
    refuse_spec("rich,", {"has no parameter ''"});
}

TEST(Specs, AShownValueIsPartOfTheTextGivenOrNot) {
    EXPECT_EQ(parsed_spec("shown").text(), "shown:16");
    EXPECT_EQ(parsed_spec("shown"), parsed_spec("shown:16"));
    EXPECT_EQ(parsed_spec("shown"), parsed_spec("shown,size:16"));
    EXPECT_NE(parsed_spec("shown"), parsed_spec("shown:17"));
    EXPECT_NE(parsed_spec("rich"), parsed_spec("rich:16")) << "an optional one says what was given";
    EXPECT_NE(parsed_spec("rich"), parsed_spec("shown"));
    EXPECT_EQ(parsed_spec("shown,rate:0.25").text(), "shown:16,rate:0.25");
}

TEST(Specs, NumbersCanBeSetWithinTheirRange) {
    Spec spec = parsed_spec("rich");
    spec.set("size", 7, "there");
    spec.set("rate", 0.125, "there");
    EXPECT_EQ(spec.text(), "rich:7,rate:0.125");
    spec.set("size", 8, "there");
    EXPECT_EQ(spec.whole("size"), 8U);
    for (const double value : {0.0, 101.0, 2.5, -1.0})
        EXPECT_EQ(refusal_of([&] { spec.set("size", value, "there"); }).where, "there") << value;
    EXPECT_THAT(refusal_of([&] { spec.set("speed", 1, "there"); }).problem, HasSubstr("'speed'"));
    EXPECT_THAT(refusal_of([&] { spec.set("sise", 1, "there"); }).remedy, HasSubstr("'size'?"));
    EXPECT_EQ(spec.text(), "rich:8,rate:0.125") << "what was refused changed nothing";
}

TEST(Specs, MembersKeepTheirOwnParametersAndComeLast) {
    const std::string text = "mixed,every:3,members:rich:2,loud+plain+shown:9";
    EXPECT_EQ(parsed_spec(text).text(), text);
    EXPECT_EQ(parsed_spec("mixed:plain+rich").text(), "mixed:plain+rich");
    EXPECT_EQ(parsed_spec("mixed:plain+rich"), parsed_spec("mixed,members:plain+rich"));
    EXPECT_NE(parsed_spec("mixed:plain+rich"), parsed_spec("mixed:rich+plain"));
    EXPECT_NE(parsed_spec("mixed:plain+shown"), parsed_spec("mixed:plain+shown:15"));
    EXPECT_EQ(parsed_spec("mixed:plain+shown"), parsed_spec("mixed:plain+shown:16"));
    refuse_spec("mixed", {"needs a value"});
    refuse_spec("mixed:plain+", {"unknown thing ''"});
    refuse_spec("mixed:plain+rich:0", {"'size'"});
    refuse_spec("mixed:plain+mixed:plain+rich", {"'mixed:plain' cannot be a member of 'mixed'"});
}

TEST(SpecRegistries, ANameThatIsTakenOrMissingIsAFaultOfOurs) {
    using Make = int();
    static constexpr auto* one = +[] { return 1; };
    SpecRegistry<SpecInfo, Make> registry{{&plain_info, one}};
    registry.add(rich_info, [] { return 2; });
    EXPECT_EQ(registry.make_of(registry.find("thing", "rich", "here"))(), 2);
    EXPECT_EQ(registry.infos().size(), 2U);
    EXPECT_THROW(registry.add(rich_info, one), InternalError);
    EXPECT_THROW(registry.add(SpecInfo{}, one), InternalError);
    EXPECT_THROW(registry.add(shown_info, nullptr), InternalError);
    EXPECT_THROW(static_cast<void>(registry.make_of(needy_info)), InternalError);
}

}  // namespace
}  // namespace rudder::test
