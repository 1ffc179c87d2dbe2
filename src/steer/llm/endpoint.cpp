// Protocols by name, the key, and texts of others.
#include <cstdlib>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/steer/llm/options.hpp"

#include "http.hpp"

namespace rudder::steer {

std::string_view to_string(LlmApi api) noexcept {
    switch (api) {
        case LlmApi::openai:
            return "openai";
        case LlmApi::ollama:
            return "ollama";
        case LlmApi::automatic:
            break;
    }
    return "auto";
}

LlmApi llm_api(std::string_view name, const std::string& where) {
    for (const LlmApi api : {LlmApi::automatic, LlmApi::openai, LlmApi::ollama})
        if (name == to_string(api)) return api;
    throw usage_error(
        fmt::format("invalid protocol of the language model's server: '{}'", printable(name)),
        where, "use one of auto, openai, ollama");
}

std::string llm_key_from_environment() {
    for (const char* name : {"RUDDER_LLM_KEY", "OPENAI_API_KEY"}) {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') continue;
        std::string key(value);
        for (const char c : key) {
            if (c > ' ' && c < '\x7f') continue;
            throw usage_error(
                fmt::format("the key in {} holds a character that no header can", name),
                "the environment", "set it again, without spaces or line ends");
        }
        return key;
    }
    return {};
}

std::string printable(std::string_view text, std::size_t most) {
    std::string line;
    for (const char c : text) {
        if (line.size() >= most) {
            line.resize(most > 3 ? most - 3 : 0);
            return line + "...";
        }
        const bool shown = c >= ' ' && c < '\x7f' && c != '<' && c != '>' && c != '&';
        line += shown ? c : (c == '\n' || c == '\t' || c == '\r' ? ' ' : '?');
    }
    return line;
}

}  // namespace rudder::steer
