// What the program computes of prompts with a model file, for comparison with torch.
//
//   local_replies FILE < PROMPTS > RESULTS
//
// Of each line {"system", "user"}: its tokens, the logits behind them, and the likeliest tokens
// that follow, up to 40.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "core/json.hpp"
#include "steer/llm/local/transformer.hpp"

namespace {

using namespace rudder;
using steer::TokenId;
using steer::Vocabulary;

constexpr std::size_t longest_reply = 40;

std::vector<TokenId> prompt_of(const Vocabulary& words, const Json& line) {
    std::vector<TokenId> all{Vocabulary::begin};
    const auto add = [&](TokenId role, const std::string& text) {
        all.push_back(role);
        const auto tokens = words.tokens(text);
        all.insert(all.end(), tokens.begin(), tokens.end());
        all.push_back(Vocabulary::end);
    };
    add(Vocabulary::system, line.at("system"));
    add(Vocabulary::user, line.at("user"));
    all.push_back(Vocabulary::assistant);
    return all;
}

void answer(const steer::Transformer& transformer, const Vocabulary& words, const Json& line) {
    const auto on = [] { return true; };
    const std::vector<TokenId> prompt = prompt_of(words, line);
    steer::Reading reading(transformer);
    reading.read(prompt, on);
    std::vector<TokenId> every(words.size());
    std::iota(every.begin(), every.end(), TokenId{0});
    std::vector<float> first(every.size());
    reading.logits(every, first);
    std::vector<float> logits = first;
    std::vector<TokenId> reply;
    while (reply.size() < longest_reply) {
        const auto best = static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
        reply.push_back(best);
        if (best == Vocabulary::end) break;
        reading.read(std::span(&best, 1), on);
        reading.logits(every, logits);
    }
    fmt::print("{}\n", Json{{"tokens", prompt}, {"logits", first}, {"reply", reply}}.dump());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: local_replies FILE < PROMPTS > RESULTS\n");
        return 2;
    }
    const steer::SteeringModel model = steer::read_steering_model(std::filesystem::path(argv[1]));
    const steer::Transformer transformer(model);
    const Vocabulary words(model.pieces, argv[1]);
    for (std::string line; std::getline(std::cin, line);)
        answer(transformer, words, parse_json(line, "a prompt"));
    return 0;
}
