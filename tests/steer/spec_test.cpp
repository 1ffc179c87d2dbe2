// How agents are written, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/steer/agent_spec.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

void refuse(const std::string& text, std::initializer_list<const char*> words) {
    try {
        const steer::AgentSpec spec = steer::AgentSpec::parse(text, "here");
        ADD_FAILURE() << text << " was taken as " << spec.text();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 2) << text;
        EXPECT_FALSE(error.remedy().empty());
        for (const char* word : words)
            EXPECT_THAT(error.what(), HasSubstr(word)) << text;
    }
}

TEST(AgentSpecs, AreWrittenAsTheyAreRead) {
    for (const char* text : {"never", "always", "every:1", "every:16", "threshold",
                             "threshold:0.4,on:stall", "threshold,on:cost,fraction:0.5,interval:4",
                             "schedule:/a/b:c+d", "random:0.1", "replay:log,rank:3"})
        EXPECT_EQ(steer::AgentSpec::parse(text).text(), text);
    EXPECT_EQ(steer::AgentSpec::parse("every:4.0").text(), "every:4");
    EXPECT_EQ(steer::AgentSpec::parse("every,every:4"), steer::AgentSpec::parse("every:4"));
    EXPECT_EQ(steer::AgentSpec::parse("every:4").whole("every"), 4U);
    EXPECT_TRUE(steer::AgentSpec::parse("every:4").given("every"));
    EXPECT_FALSE(steer::AgentSpec::parse("every:4").given("evry"));
}

TEST(AgentSpecs, RefuseWhatIsUnknownAndListTheKnown) {
    refuse("nevr", {"unknown agent 'nevr'", "did you mean 'never'", "always", "here"});
    refuse("", {"unknown agent ''"});
    refuse("never:1", {"takes no value"});
    refuse("always,x:1", {"no parameter 'x'", "no parameters"});
    refuse("every", {"needs a value"});
    refuse("every:", {"invalid value", "''"});
    refuse("every:0", {"invalid value for 'every' of agent 'every': '0'", "from 1"});
    refuse("every:1.5", {"whole number"});
    refuse("every:nan", {"'nan'"});
    refuse("every:4,every:5", {"given twice"});
    refuse("every:4,", {"no parameter ''"});
    refuse("every:4,evry:5", {"did you mean 'every'"});
    refuse("every:4,every", {"given twice"});
    refuse("threshold,on:hits",
           {"invalid value for 'on' of agent 'threshold': 'hits'", "hit-rate, stall, cost"});
    refuse("schedule", {"needs a value", "a file"});
    refuse("schedule:", {"invalid value", "''"});
    refuse("random:1.5", {"up to 1"});
}

TEST(AgentSpecs, AnAgentThatDecidesNeedsAPolicyWithoutASignal) {
    const auto check = [](const char* agent, const char* policy) {
        steer::check_agent(steer::AgentSpec::parse(agent), buffer::PolicySpec::parse(policy));
    };
    EXPECT_NO_THROW(check("every:4", "scored"));
    EXPECT_NO_THROW(check("never", "scored,every:4"));
    EXPECT_NO_THROW(check("always", "window:16"));
    for (const char* policy : {"scored,every:4", "periodic", "scored-faithful,listed"}) {
        try {
            check("always", policy);
            FAIL() << policy;
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 2);
            EXPECT_THAT(error.what(), HasSubstr("'always'"));
        }
    }
}

TEST(AgentSpecs, EveryAgentSaysWhatItIsNeedsAndCosts) {
    const Json list = steer::agents_json();
    ASSERT_EQ(list.size(), steer::all_agents().size());
    for (std::size_t i = 0; i < list.size(); ++i) {
        const steer::AgentInfo& info = *steer::all_agents()[i];
        EXPECT_EQ(list[i]["name"], info.name);
        EXPECT_EQ(&steer::agent_info(info.name, ""), &info);
        EXPECT_TRUE(info.sentence.ends_with('.')) << info.name;
        EXPECT_FALSE(info.needs.empty()) << info.name;
        EXPECT_FALSE(info.costs.empty()) << info.name;
        EXPECT_TRUE(info.value == SpecValue::none || !info.parameters.empty()) << info.name;
    }
}

TEST(AgentSpecs, MembersAreSpecsOfTheirOwn) {
    const auto spec = steer::AgentSpec::parse("mixture:every:4.0+threshold,on:stall+never");
    EXPECT_EQ(spec.text(), "mixture:every:4+threshold,on:stall+never");
    ASSERT_EQ(spec.members().size(), 3U);
    EXPECT_EQ(spec.members()[1], steer::AgentSpec::parse("threshold,on:stall"));
    EXPECT_EQ(spec, steer::AgentSpec::parse("mixture,agents:every:4+threshold,on:stall+never"));
    EXPECT_NE(spec, steer::AgentSpec::parse("mixture:every:5+threshold,on:stall+never"));
    EXPECT_TRUE(steer::AgentSpec::parse("never").members().empty());
    refuse("mixture", {"needs a value"});
    refuse("mixture:", {"invalid value"});
    refuse("mixture:never+", {"unknown agent ''"});
    refuse("mixture:never+mixture:never", {"cannot be a member"});
    refuse("mixture:never+every:4,evry:5", {"did you mean 'every'"});
}

TEST(AgentSpecs, WhoDecidesFollowsFromTheSpec) {
    for (const char* text :
         {"every:4", "threshold", "bandit,knobs:decide", "bandit,knobs:policy+decide",
          "mixture:never+every:2", "mixture:never+bandit,knobs:window/decide"})
        EXPECT_TRUE(steer::AgentSpec::parse(text).decides()) << text;
    for (const char* text : {"never", "bandit", "bandit,knobs:policy+window", "mixture:never",
                             "mixture:never+bandit", "schedule:undecided"})
        EXPECT_FALSE(steer::AgentSpec::parse(text).decides()) << text;
}

TEST(AgentSpecs, AllowedWordsAreDeclared) {
    for (const steer::AgentInfo* info : steer::all_agents()) {
        for (const SpecParameter& p : info->parameters) {
            EXPECT_GT(p.help.size(), 8U) << info->name << ' ' << p.name;
            const std::string front = std::string(info->name) + ",";
            for (const std::string_view word : p.words) {
                const std::string text = front + std::string(p.name) + ":" + std::string(word);
                EXPECT_EQ(steer::AgentSpec::parse(text).text(p.name), word);
            }
            if (!p.words.empty()) {
                refuse(front + std::string(p.name) + ":nonsense", {"invalid value", "one of"});
            }
        }
    }
}

}  // namespace
}  // namespace rudder::test
