// A language model behind a real socket words findings: what it may, and what is refused.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "report/explain/wording.hpp"
#include "rudder/core/error.hpp"
#include "steer/llm/fake_server.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

std::vector<report::Finding> one_finding() {
    report::Finding found;
    found.cause = "no buffer";
    found.text = "No buffer: all 120 remote rows of a step travel every time.";
    found.evidence = {{"seconds.wait_rows", 3.25, "3.25 ms of a step, 40 %", "summary.json"}};
    found.change = "--policy window --buffer 0.25";
    found.gain = 0.31;
    found.formula = "step - max(step - wait_rows, wire)";
    return {found};
}

/// What becomes of a model's words.
std::string words_of(const std::string& text, std::string* asked = nullptr) {
    FakeServer fake(openai([&](const FakeRequest& request) {
        if (asked != nullptr) *asked = request.body;
        const Json reply{{"order", "1"}, {"finding_1", text}};
        return FakeReply::of(200, openai_envelope(reply.dump()));
    }));
    try {
        return report::worded_by({.url = fake.url()}, one_finding());
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::failed);
        return "refused: " + error.problem();
    }
}

TEST(ExplainWordsLive, OfAModelAreUsed) {
    std::string asked;
    const std::string text = "No buffer: steps wait 3.25 ms; a buffer of 0.25 gains about 31 %.";
    EXPECT_EQ(words_of(text, &asked), "1. " + text + "\n");
    EXPECT_THAT(asked, HasSubstr("finding_1")) << "the schema is sent";
    EXPECT_THAT(asked, HasSubstr("all 120 remote rows"));
}

TEST(ExplainWordsLive, WithANumberOfItsOwnAreRefused) {
    EXPECT_EQ(words_of("No buffer: a buffer gains 32 %."),
              "refused: the number 32 is not of the evidence");
}

TEST(ExplainWordsLive, OfAServerThatIsNotThereAreAnError) {
    EXPECT_THROW(static_cast<void>(report::worded_by({.url = "http://127.0.0.1:1"}, one_finding())),
                 Error);
}

}  // namespace
}  // namespace rudder::test
