// What a model is told: the task once, and what has been seen, within a budget of tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "rudder/steer/agent_spec.hpp"

#include "chat_model.hpp"

namespace rudder::steer {

/// Tokens a text takes, estimated from above for the tokenisers in use: a word's four letters, two
/// digits or one sign each.
[[nodiscard]] std::uint64_t estimated_tokens(std::string_view text) noexcept;

/// The first message: the task, the run's facts, knobs with ranges and costs, what a run pays in,
/// and the form of a reply. The same for the whole run, so that servers can keep it.
[[nodiscard]] std::string system_message(const AgentFacts& facts);

/// One past decision with its measured effects, as a line.
[[nodiscard]] std::string history_line(const PastDecision& past);
/// The latest numbers, in a fixed layout.
[[nodiscard]] std::string observation_text(const Observation& observation);

/// What a message may take, and how that is counted.
struct TokenBudget {
    std::uint64_t tokens;
    std::function<std::uint64_t(std::string_view)> count = estimated_tokens;
};

struct FittedMessage {
    std::string text;
    std::uint64_t left_out = 0;  ///< past decisions that would have been too much
};

/// The second message: up to `history` past decisions, what was wrong with the last reply (empty:
/// nothing), the latest numbers, and last the effects that are known (known_effects.hpp), of all
/// decisions on record unless `history` is 0 or they would be too much. Past decisions are left
/// out, oldest first, where the message would take more than the budget.
[[nodiscard]] FittedMessage user_message(const Observation& observation, std::size_t history,
                                         const std::string& problem, const TokenBudget& budget);
/// The same of lines that are made already.
[[nodiscard]] FittedMessage fitted_message(std::span<const std::string> history,
                                           std::string_view heading, const std::string& rest,
                                           const TokenBudget& budget);
/// Tokens that are left for it, as estimated. The schema counts, too: servers that do not take it
/// are shown it in the prompt.
[[nodiscard]] std::uint64_t room_for(std::string_view system, const Json& schema,
                                     const ChatSettings& settings);

}  // namespace rudder::steer
