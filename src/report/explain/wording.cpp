#include "wording.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "steer/llm/chat.hpp"
#include "steer/llm/http.hpp"
#include "steer/llm/reply.hpp"

#include "explanation.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t longest_wording = 700;
constexpr auto wording_patience = std::chrono::seconds(60);
constexpr std::string_view wording_task =
    "You explain to a person why a training run of a graph neural network was slow. You are given "
    "findings as JSON. Word each in two or three plain sentences: what limits the run, what shows "
    "it, what to change and what that would gain. Begin each with its cause. Use no number that is "
    "not in the finding, write numbers as they stand there, and add nothing of your own. `order` "
    "lists the findings' numbers, the most important first, such as \"2,1\".";

bool is_digit(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// A number as it stands in a text.
struct NumberToken {
    std::string_view text;
    double value;
};

std::vector<NumberToken> number_tokens(std::string_view text) {
    std::vector<NumberToken> all;
    std::size_t at = 0;
    while (at < text.size()) {
        if (!is_digit(text[at])) {
            ++at;
            continue;
        }
        std::size_t end = at + 1;
        const auto inside = [&](std::size_t i) {
            return (text[i] == '.' || text[i] == ',') && i + 1 < text.size() &&
                   is_digit(text[i + 1]);
        };
        while (end < text.size() && (is_digit(text[end]) || inside(end)))
            ++end;
        const std::string_view token = text.substr(at, end - at);
        std::string digits(token);
        std::erase(digits, ',');
        all.push_back({token, parse_double(digits).value_or(-1)});
        at = end;
    }
    return all;
}

/// All that a finding says, in which its numbers stand.
std::string all_words(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& one : findings)
        text += finding_text(one);
    return text;
}

/// "2,1": every finding once.
std::vector<std::size_t> order_of(std::string text, std::size_t count) {
    std::erase(text, ' ');
    std::vector<std::size_t> order;
    for (const std::string_view word : split(text, ',')) {
        const auto number = parse_u64(word);
        if (number && *number >= 1 && *number <= count)
            order.push_back(static_cast<std::size_t>(*number) - 1);
    }
    std::vector<std::size_t> sorted = order;
    std::ranges::sort(sorted);
    bool whole = sorted.size() == count && split(text, ',').size() == count;
    for (std::size_t i = 0; whole && i < count; ++i)
        whole = sorted[i] == i;
    if (!whole) {
        throw Error(ErrorKind::failed, fmt::format("invalid order of findings: '{}'", text),
                    "the language model's reply", "ask again, or go without --llm");
    }
    return order;
}

std::string key_of(std::size_t finding) {
    return fmt::format("finding_{}", finding + 1);
}

}  // namespace

std::vector<double> numbers_in(std::string_view text) {
    std::vector<double> all;
    for (const NumberToken& token : number_tokens(text))
        all.push_back(token.value);
    return all;
}

std::string foreign_number(std::string_view text, const std::vector<Finding>& findings) {
    const std::string words = all_words(findings);
    const std::vector<double> known = numbers_in(words);
    for (const NumberToken& token : number_tokens(text)) {
        if (std::ranges::find(known, token.value) == known.end()) return std::string(token.text);
    }
    return {};
}

Json wording_schema(std::size_t findings) {
    Json properties = {{"order", {{"type", "string"}, {"maxLength", 4 * findings}}}};
    Json required = Json::array({"order"});
    for (std::size_t i = 0; i < findings; ++i) {
        properties[key_of(i)] = {{"type", "string"}, {"maxLength", longest_wording}};
        required.push_back(key_of(i));
    }
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

std::string worded(std::string_view reply, const std::vector<Finding>& findings) {
    const Json json = steer::parse_reply_object(reply, wording_schema(findings.size()),
                                                "the language model's reply");
    std::string text;
    std::size_t number = 0;
    for (const std::size_t i : order_of(json.at("order").get<std::string>(), findings.size())) {
        const auto words = json.at(key_of(i)).get<std::string>();
        if (words.empty()) {
            throw Error(ErrorKind::failed, fmt::format("finding {} has no words", i + 1),
                        "the language model's reply", "ask again, or go without --llm");
        }
        if (std::ranges::any_of(words, [](unsigned char c) { return c < ' ' || c == 127; })) {
            throw Error(ErrorKind::failed,
                        fmt::format("the words of finding {} hold control characters", i + 1),
                        "the language model's reply", "ask again, or go without --llm");
        }
        // Of its own finding: another's numbers would be evidence of nothing here.
        const std::string foreign = foreign_number(words, {findings[i]});
        if (!foreign.empty()) {
            throw Error(ErrorKind::failed,
                        fmt::format("the number {} is not of the evidence", foreign),
                        "the language model's reply", "ask again, or go without --llm");
        }
        text += fmt::format("{}. {}\n", ++number, words);
    }
    return text;
}

std::string worded_by(const steer::LlmOptions& model, const std::vector<Finding>& findings) {
    Json list = Json::array();
    for (std::size_t i = 0; i < findings.size(); ++i) {
        Json one = finding_json(findings[i]);
        // Values stand in the texts, rounded for people.
        for (Json& evidence : one["evidence"])
            evidence.erase("value");
        one["gain"] = findings[i].gain ? Json(format_percent(*findings[i].gain)) : Json();
        one["number"] = i + 1;
        list.push_back(std::move(one));
    }
    const auto deadline = steer::ChatModel::Clock::now() + wording_patience;
    constexpr std::uint64_t tokens_each = 256;
    steer::ChatServer server(model, steer::llm_key_from_environment(),
                             {.tokens = tokens_each * (findings.size() + 1)});
    server.connect(deadline);
    const std::array messages{
        steer::ChatMessage{steer::ChatRole::system, std::string(wording_task)},
        steer::ChatMessage{steer::ChatRole::user, list.dump()}};
    return worded(server.chat(messages, wording_schema(findings.size()), deadline), findings);
}

}  // namespace rudder::report
