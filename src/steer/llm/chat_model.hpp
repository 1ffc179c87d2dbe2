// A language model that can be asked: behind a server, or in this process.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rudder/core/json_fwd.hpp"

namespace rudder::steer {

enum class ChatRole : std::uint8_t { system, user, assistant };

struct ChatMessage {
    ChatRole role;
    std::string text;
};

/// What is said to the server of each request, always.
struct ChatSettings {
    double temperature = 0;
    std::uint64_t seed = 0;
    std::uint64_t context = 8192;  ///< tokens a prompt and its reply may take
    std::uint64_t tokens = 256;    ///< of a reply, at most
};

/// All calls but `cancel` come from one task at a time. Whatever keeps a reply from coming is an
/// Error (kind failed) whose problem is one line.
class ChatModel {
public:
    using Clock = std::chrono::steady_clock;

    virtual ~ChatModel() = default;
    ChatModel(const ChatModel&) = delete;
    ChatModel& operator=(const ChatModel&) = delete;

    /// The reply to the messages, as the schema wants it where the model can be held to it.
    [[nodiscard]] virtual std::string chat(std::span<const ChatMessage> messages,
                                           const Json& schema, Clock::time_point deadline) = 0;
    /// Whether it may have to be loaded elsewhere first; then a call of `warm_up`, on a task of its
    /// own, makes it load and read the messages.
    [[nodiscard]] virtual bool loads_elsewhere() const noexcept { return false; }
    virtual void warm_up(std::span<const ChatMessage> /*messages*/,
                         Clock::time_point /*deadline*/) {}
    /// Ends the present call, and every later one, at once.
    virtual void cancel() noexcept = 0;
    [[nodiscard]] virtual bool cancelled() const noexcept = 0;

    [[nodiscard]] virtual std::string name() const = 0;
    /// What it is, in a few words: its protocol, or its size.
    [[nodiscard]] virtual std::string kind() const = 0;
    /// What it did, beside questions and answers, for the end of a run; empty: nothing to say.
    [[nodiscard]] virtual std::string work() const { return {}; }

    /// Tokens that a text takes.
    [[nodiscard]] virtual std::uint64_t tokens(std::string_view text) const = 0;
    /// Tokens that a prompt and its reply may take.
    [[nodiscard]] virtual std::uint64_t context() const noexcept = 0;
    /// Tokens that are left for the second message, behind a first one and for that reply.
    [[nodiscard]] virtual std::uint64_t room(const std::string& first,
                                             const Json& schema) const = 0;
    /// A second try may do better where a reply could not be used.
    [[nodiscard]] virtual bool worth_repeating() const noexcept { return false; }

protected:
    ChatModel() = default;
};

}  // namespace rudder::steer
