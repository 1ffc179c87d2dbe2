// How policies are written, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/error.hpp"

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
    EXPECT_EQ(buffer::PolicySpec::parse("periodic").get("alpha"), 0.05);
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
    refuse("window:0", {"0 is no value for 'window'", "from 1"});
    refuse("window:1.5", {"whole number"});
    refuse("window:", {"is no value"});
    refuse("window:x", {"'x' is no value"});
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

TEST(PolicySpecs, EveryPolicySaysWhatItDoesAndWhereItIsFrom) {
    EXPECT_EQ(buffer::all_policies().size(), 12U);
    for (const buffer::PolicyInfo* info : buffer::all_policies()) {
        EXPECT_TRUE(info->sentence.ends_with('.')) << info->name;
        EXPECT_EQ(std::count(info->sentence.begin(), info->sentence.end(), '.'), 1) << info->name;
        EXPECT_FALSE(info->paper.empty());
    }
}

}  // namespace
}  // namespace rudder::test
