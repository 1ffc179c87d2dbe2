#include "wording.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdint>

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
    "not in the finding, neither in digits nor in words, write numbers as they stand there, and "
    "add nothing of your own. `order` lists the findings' numbers, the most important first, such "
    "as \"2,1\".";

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

struct KnownWord {
    std::string_view word;
    double value;
};

constexpr std::array known_words{
    KnownWord{"zero", 0},         KnownWord{"two", 2},        KnownWord{"three", 3},
    KnownWord{"four", 4},         KnownWord{"five", 5},       KnownWord{"six", 6},
    KnownWord{"seven", 7},        KnownWord{"eight", 8},      KnownWord{"nine", 9},
    KnownWord{"ten", 10},         KnownWord{"eleven", 11},    KnownWord{"twelve", 12},
    KnownWord{"thirteen", 13},    KnownWord{"fourteen", 14},  KnownWord{"fifteen", 15},
    KnownWord{"sixteen", 16},     KnownWord{"seventeen", 17}, KnownWord{"eighteen", 18},
    KnownWord{"nineteen", 19},    KnownWord{"twenty", 20},    KnownWord{"thirty", 30},
    KnownWord{"forty", 40},       KnownWord{"fifty", 50},     KnownWord{"sixty", 60},
    KnownWord{"seventy", 70},     KnownWord{"eighty", 80},    KnownWord{"ninety", 90},
    KnownWord{"hundred", 100},    KnownWord{"hundreds", 100}, KnownWord{"thousand", 1e3},
    KnownWord{"thousands", 1e3},  KnownWord{"million", 1e6},  KnownWord{"millions", 1e6},
    KnownWord{"billion", 1e9},    KnownWord{"billions", 1e9}, KnownWord{"dozen", 12},
    KnownWord{"dozens", 12},      KnownWord{"half", 0.5},     KnownWord{"halved", 0.5},
    KnownWord{"halves", 0.5},     KnownWord{"quarter", 0.25}, KnownWord{"quarters", 0.25},
    KnownWord{"thirds", 1.0 / 3}, KnownWord{"tenths", 0.1},   KnownWord{"twice", 2},
    KnownWord{"double", 2},       KnownWord{"doubled", 2},    KnownWord{"doubles", 2},
    KnownWord{"twofold", 2},      KnownWord{"thrice", 3},     KnownWord{"triple", 3},
    KnownWord{"tripled", 3},      KnownWord{"triples", 3},    KnownWord{"threefold", 3},
    KnownWord{"quadruple", 4},    KnownWord{"quadrupled", 4}, KnownWord{"fourfold", 4},
    KnownWord{"fivefold", 5},     KnownWord{"tenfold", 10},   KnownWord{"hundredfold", 100},
};

struct CodeRange {
    std::uint32_t first;
    std::uint32_t last;
};

/// Digits, fractions and numbers in circles, of Unicode 15.
constexpr std::array digit_ranges{
    CodeRange{0xb2, 0xb3},     CodeRange{0xb9, 0xb9},     CodeRange{0xbc, 0xbe},
    CodeRange{0x660, 0x669},   CodeRange{0x6f0, 0x6f9},   CodeRange{0x7c0, 0x7c9},
    CodeRange{0x966, 0x96f},   CodeRange{0x9e6, 0x9ef},   CodeRange{0xa66, 0xa6f},
    CodeRange{0xae6, 0xaef},   CodeRange{0xb66, 0xb6f},   CodeRange{0xbe6, 0xbf2},
    CodeRange{0xc66, 0xc6f},   CodeRange{0xce6, 0xcef},   CodeRange{0xd66, 0xd78},
    CodeRange{0xe50, 0xe59},   CodeRange{0xed0, 0xed9},   CodeRange{0xf20, 0xf33},
    CodeRange{0x1040, 0x1049}, CodeRange{0x17e0, 0x17e9}, CodeRange{0x1810, 0x1819},
    CodeRange{0x2070, 0x2070}, CodeRange{0x2074, 0x2079}, CodeRange{0x2080, 0x2089},
    CodeRange{0x2150, 0x2189}, CodeRange{0x2460, 0x249b}, CodeRange{0x24ea, 0x24ff},
    CodeRange{0x2776, 0x2793}, CodeRange{0xff10, 0xff19}, CodeRange{0x1d7ce, 0x1d7ff},
};

bool is_letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}

bool same_word(std::string_view text, std::string_view word) {
    return std::ranges::equal(text, word, [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) == b;
    });
}

/// The bytes of the character that begins there; one where none does.
std::size_t length_at(std::string_view text, std::size_t at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0xc0 || byte >= 0xf8) return 1;
    const std::size_t length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    const std::string_view rest = text.substr(at + 1, length - 1);
    const bool whole = rest.size() == length - 1 && std::ranges::all_of(rest, [](char c) {
                           return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
                       });
    return whole ? length : 1;
}

std::uint32_t code_of(std::string_view character) {
    constexpr std::array<std::uint32_t, 5> leading{0, 0x7f, 0x1f, 0x0f, 0x07};
    std::uint32_t code = static_cast<unsigned char>(character.front()) & leading[character.size()];
    for (const char c : character.substr(1))
        code = (code << 6U) | (static_cast<unsigned char>(c) & 0x3fU);
    return code;
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

std::vector<NumberWord> number_words(std::string_view text) {
    std::vector<NumberWord> all;
    for (std::size_t at = 0; at < text.size();) {
        if (is_letter(text[at])) {
            std::size_t end = at + 1;
            while (end < text.size() && is_letter(text[end]))
                ++end;
            const std::string_view word = text.substr(at, end - at);
            const auto* const known = std::ranges::find_if(
                known_words, [&](const KnownWord& one) { return same_word(word, one.word); });
            if (known != known_words.end()) all.push_back({word, known->value});
            at = end;
            continue;
        }
        const std::string_view character = text.substr(at, length_at(text, at));
        const std::uint32_t code = code_of(character);
        if (std::ranges::any_of(digit_ranges, [&](const CodeRange& range) {
                return code >= range.first && code <= range.last;
            })) {
            all.push_back({character, std::nullopt});
        }
        at += character.size();
    }
    return all;
}

std::string foreign_number(std::string_view text, const std::vector<Finding>& findings) {
    const std::string words = all_words(findings);
    const std::vector<double> known = numbers_in(words);
    for (const NumberToken& token : number_tokens(text)) {
        if (std::ranges::find(known, token.value) == known.end()) return std::string(token.text);
    }
    // A number is one as a word, too: of the finding by its value, or where it says the same word.
    const std::vector<NumberWord> said = number_words(words);
    for (const NumberWord& word : number_words(text)) {
        const auto same = [&](const NumberWord& one) {
            return word.value ? one.value == word.value : one.text == word.text;
        };
        const bool of_digits = word.value && std::ranges::find(known, *word.value) != known.end();
        if (!of_digits && std::ranges::none_of(said, same)) return std::string(word.text);
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
