// A small language model that runs in this process, on the task that asks it.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "steer/llm/chat_model.hpp"

#include "reply_automaton.hpp"
#include "transformer.hpp"
#include "vocabulary.hpp"

namespace rudder::steer {

/// Always replies with the likeliest tokens that the schema allows, so that every reply can be
/// used, and the same prompts get the same replies on every machine.
class LocalModel final : public ChatModel {
public:
    /// Reads a model file; an input Error names it and what is wrong. A conversation takes at most
    /// `context` tokens (0: what the model was made for) and a reply at most `tokens`.
    LocalModel(const std::filesystem::path& file, std::uint64_t context, std::uint64_t tokens);
    /// Of a model that is read already.
    LocalModel(SteeringModel model, std::uint64_t context, std::uint64_t tokens);

    [[nodiscard]] std::string chat(std::span<const ChatMessage> messages, const Json& schema,
                                   Clock::time_point deadline) override;
    void cancel() noexcept override { cancelled_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool cancelled() const noexcept override {
        return cancelled_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::string kind() const override;
    [[nodiscard]] std::string work() const override;
    [[nodiscard]] std::uint64_t tokens(std::string_view text) const override;
    [[nodiscard]] std::uint64_t context() const noexcept override { return context_; }
    [[nodiscard]] std::uint64_t room(const std::string& first, const Json& schema) const override;
    /// The fewest that a reply to the schema may need.
    [[nodiscard]] static std::uint64_t least_tokens(const Json& schema);

    /// What was done for all replies so far.
    struct Counts {
        std::uint64_t read = 0;     ///< tokens of prompts that were computed
        std::uint64_t kept = 0;     ///< tokens of prompts whose keys and values were there
        std::uint64_t written = 0;  ///< tokens of replies
    };
    [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

private:
    [[nodiscard]] std::vector<TokenId> prompt(std::span<const ChatMessage> messages) const;
    [[nodiscard]] const ReplyAutomaton& automaton(const Json& schema);
    /// Reads tokens, and ends with an Error where the reply is wanted no more.
    void read(std::span<const TokenId> tokens, Clock::time_point deadline);
    [[nodiscard]] TokenId likeliest(std::span<const TokenId> allowed);

    std::string name_;
    std::uint64_t parameters_;
    std::uint64_t context_;
    std::uint64_t reply_tokens_;
    Vocabulary vocabulary_;
    Transformer transformer_;
    Reading reading_;
    std::optional<ReplyAutomaton> automaton_;
    std::string schema_;  ///< whose automaton that is
    std::vector<float> logits_;
    Counts counts_;
    std::atomic<bool> cancelled_{false};
};

}  // namespace rudder::steer
