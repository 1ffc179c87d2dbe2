// Replies of models: an action that was taken is in range, and comes back from the JSON it is
// written as. The first byte chooses the protocol; replies inside servers' responses are read, too.
#include "steer/llm/reply.hpp"

#include "core/json.hpp"
#include "steer/llm/faithful.hpp"
#include "steer/llm/protocol.hpp"

#include "fuzz.hpp"

namespace rudder::fuzz {

namespace {

const steer::Observation& some_observation() {
    static const steer::Observation made = [] {
        steer::Observation o;
        o.sequence = 1;
        o.step = 16;
        o.steps = 2000;
        o.steps_per_epoch = 100;
        o.setting.policy = buffer::PolicySpec::parse("scored");
        o.setting.capacity = 1000;
        o.limits.slots = 1200;
        o.limits.window = 64;
        o.takes_decisions = true;
        return o;
    }();
    return made;
}

const Json& some_schema() {
    static const Json schema =
        reply_schema(some_observation(), buffer::PolicySpec::parse("scored,every:16"));
    return schema;
}

void check_text(std::string_view text) {
    const steer::ModelReply reply =
        parse_reply(text, some_schema(), some_observation(), "the reply");
    FUZZ_EXPECT(steer::parse_action(to_json(reply.action), "again") == reply.action);
    FUZZ_EXPECT(reply.action.fraction >= 0 && reply.action.fraction <= 1);
    const steer::Setting now = with_changes(some_observation().setting, reply.action.knobs,
                                            some_observation().limits, "again");
    FUZZ_EXPECT(now.capacity <= some_observation().limits.slots);
    if (reply.forecast) {
        FUZZ_EXPECT(std::abs(reply.forecast->hit_rate) <= 1 && std::abs(reply.forecast->rows) <= 1);
    }
}

void check_response(steer::LlmApi api, std::string_view text) {
    const Json response = steer::parse_reply_json(text, "a response", "the server");
    static_cast<void>(listed_models(api, response));
    check_text(reply_text(api, response, {}, "the server"));
}

}  // namespace

void check(std::string_view bytes) {
    if (bytes.empty()) return;
    const std::string_view text = bytes.substr(1);
    switch (bytes[0]) {
        case 'a':
            return check_text(text);
        case 'o':
            return check_response(steer::LlmApi::ollama, text);
        case 'i':
            return check_response(steer::LlmApi::openai, text);
        case 'e': {
            for (const char c : steer::server_says(std::string(text)))
                FUZZ_EXPECT(c >= ' ' && c < 0x7f);
            return;
        }
        default:
            break;
    }
    steer::PublishedProtocol published{{}};
    const auto answer = published.parse(text, some_observation(), "the reply");
    FUZZ_EXPECT(answer.note.size() <= 400);
    for (const char c : answer.note)
        FUZZ_EXPECT(c >= ' ' && c < 0x7f);
}

std::vector<std::string> seeds() {
    const std::string keep = R"({"action":"keep","reason":"good_enough"})";
    const std::string quoted = Json(keep).dump();
    return {
        "a" + keep,
        R"(a{"action":"replace","fraction":0.5,"reason":"low_hit_rate","expected_impact":{"hit_rate":"increase","rows":"decrease"}})",
        R"(a{"action":"set","knobs":{"policy":"window:16"},"reason":"trying"})",
        R"(a{"action":"set","knobs":{"capacity":900},"reason":"trying"})",
        R"(p{"decision":"yes","explanation":"Misses rise.","expected_impact":{"hitrate":"increase","comm_volume":"stagnant"}})",
        R"(o{"done":true,"done_reason":"stop","message":{"role":"assistant","content":)" + quoted +
            "}}",
        R"(i{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":)" +
            quoted + "}}]}",
        R"(i{"data":[{"id":"a"}]})",
        R"(o{"models":[{"name":"a"}]})",
        R"(e{"error":{"message":"no\nmodel"}})"};
}

}  // namespace rudder::fuzz
