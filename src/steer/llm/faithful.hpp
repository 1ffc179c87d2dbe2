// The published protocol: yes or no, with what the published agent saw, remembered and forecast.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "rudder/core/json_fwd.hpp"
#include "rudder/steer/agent_spec.hpp"

#include "prompt.hpp"

namespace rudder::steer {

/// What the published agent was shown: the hit rate since the start as a whole number of per cent,
/// and the rows missed per step, without those that replacements fetch.
struct PublishedRecord {
    std::uint64_t epoch = 0;
    std::uint64_t step = 0;  ///< of the epoch
    std::uint64_t minibatch = 0;
    std::uint64_t remaining = 0;
    long hit_rate = 0;
    double comm_volume = 0;

    [[nodiscard]] static PublishedRecord of(const Observation& observation);
};

/// Builds the published prompt, in our words, and reads its replies, as JSON. Keeps five lines of
/// history, as published: what was decided, and what changed until the next decision.
class PublishedProtocol {
public:
    static constexpr std::size_t history_lines = 5;

    explicit PublishedProtocol(const AgentFacts& facts);

    [[nodiscard]] std::string system_message(const Observation& first) const;
    /// Also completes the line of the decision before. `budget` as in the other user_message.
    [[nodiscard]] FittedMessage user_message(const Observation& observation,
                                             const TokenBudget& budget);
    [[nodiscard]] static Json schema();
    /// Reads a reply and remembers the decision; an Error (kind failed) where it is none.
    [[nodiscard]] Answer parse(std::string_view text, const Observation& observation,
                               const std::string& where);
    /// Remembers that there was no decision.
    void failed(const Observation& observation);
    [[nodiscard]] const std::deque<std::string>& history() const noexcept { return lines_; }

private:
    enum class Event : std::uint8_t { yes, no, invalid };
    struct Pending {
        Event event;
        PublishedRecord record;
        std::uint64_t replaced = 0;  ///< rows, in all, at the time
    };
    void complete(const Observation& observation);

    std::uint64_t capacity_;
    std::uint64_t steps_;
    std::string about_;
    std::deque<std::string> lines_;
    std::optional<Pending> pending_;
};

}  // namespace rudder::steer
