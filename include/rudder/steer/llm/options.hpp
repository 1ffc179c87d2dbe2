// How a language model is reached, as a run's options say it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rudder::steer {

/// What a server speaks.
enum class LlmApi : std::uint8_t { automatic, openai, ollama };
[[nodiscard]] std::string_view to_string(LlmApi api) noexcept;
/// auto, openai or ollama; a usage Error naming `where` otherwise.
[[nodiscard]] LlmApi llm_api(std::string_view name, const std::string& where = "--llm-api");

/// `--llm-url`, `--llm-model`, `--llm-api`, `--llm-insecure`. Parameters of the agent come first.
struct LlmOptions {
    std::string url{};    ///< empty: Ollama on this machine
    std::string model{};  ///< empty: the server's first
    LlmApi api = LlmApi::automatic;
    bool insecure = false;  ///< another machine may be reached without TLS
    /// What else the run is (graph, parts, batch), in a few lines that the model is shown.
    std::string about{};

    /// Where Ollama listens.
    static constexpr std::string_view default_url = "http://127.0.0.1:11434";
};

}  // namespace rudder::steer
