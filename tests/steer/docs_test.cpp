// docs/agents.md says what the program says, and its example works.
#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "rudder/steer/agent_spec.hpp"

#include "hand_made.hpp"

std::unique_ptr<rudder::steer::Agent> make_falling_agent(const rudder::steer::AgentFacts& facts);

namespace rudder::test {
namespace {

using testing::HasSubstr;

std::string source(const char* path) {
    return read_text(std::filesystem::path(RUDDER_SOURCE_DIR) / path, 1U << 20);
}

/// `file` (a file; default 4), ...
std::string parameters_text(const Json& agent) {
    std::string text;
    for (const Json& p : agent["parameters"]) {
        text += fmt::format("{}`{}`", text.empty() ? "" : ", ", p["name"].get<std::string>());
    }
    return text;
}

TEST(AgentDocs, TheTableOfAgentsIsThatOfTheProgram) {
    std::string table =
        "| agent | what it is | parameters | needs | a decision costs |\n"
        "| --- | --- | --- | --- | --- |\n";
    for (const Json& agent : steer::agents_json()) {
        table += fmt::format("| `{}` | {} | {} | {} | {} |\n", agent["name"].get<std::string>(),
                             agent["sentence"].get<std::string>(), parameters_text(agent),
                             agent["needs"].get<std::string>(), agent["costs"].get<std::string>());
    }
    EXPECT_THAT(source("docs/agents.md"), HasSubstr(table)) << "put this into docs/agents.md";
}

TEST(AgentDocs, TheTableOfKnobsIsThatOfTheProgram) {
    std::string table =
        "| knob | what it sets | range | judged by | a change costs |\n"
        "| --- | --- | --- | --- | --- |\n";
    for (const Json& knob : steer::knobs_json()) {
        const std::string range =
            knob.contains("minimum")
                ? fmt::format("{} to {}", knob["minimum"].dump(), knob["maximum"].dump())
                : "a policy";
        table += fmt::format("| `{}` | {} | {} | {} | {} |\n", knob["name"].get<std::string>(),
                             knob["sentence"].get<std::string>(), range,
                             knob["judged_by"].get<std::string>(), knob["cost"].get<std::string>());
    }
    EXPECT_THAT(source("docs/agents.md"), HasSubstr(table)) << "put this into docs/agents.md";
}

TEST(AgentDocs, AllReasonsAreNamed) {
    const std::string text = source("docs/agents.md");
    for (const std::string_view reason : steer::reason_names())
        EXPECT_THAT(text, HasSubstr(fmt::format("`{}`", reason)));
}

TEST(AgentDocs, TheExampleIsShownWordForWord) {
    const std::string example = source("tests/steer/example_agent.cpp");
    EXPECT_LT(std::count(example.begin(), example.end(), '\n'), 50);
    EXPECT_THAT(source("docs/agents.md"), HasSubstr("```cpp\n" + example + "```\n"));
}

TEST(AgentDocs, TheExampleWorks) {
    steer::AgentFacts facts;
    facts.steps_per_epoch = 100;
    const auto agent = make_falling_agent(facts);
    EXPECT_EQ(agent->interval(), 8U);
    std::string said;
    for (const std::uint64_t hits : {50U, 60U, 59U, 58U, 57U, 56U, 56U, 40U})
        said += to_string(agent->decide(observed(0, hits)).action.kind)[0];
    EXPECT_EQ(said, "kkkrkrkk");
    EXPECT_EQ(agent->decide(observed(0, 39)).action,
              steer::Action::replace(steer::Reason::low_hit_rate, 0.5));
    EXPECT_EQ(agent->decide(observed(995, 38)).action, steer::Action::keep(steer::Reason::ending));
}

}  // namespace
}  // namespace rudder::test
