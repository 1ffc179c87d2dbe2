// One member of a mixture: an agent that steers a shadow of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rudder/steer/agent_spec.hpp"

namespace rudder::steer {

/// Shows the agent the run as if its shadow were the real buffer, and turns what it says into
/// orders for that shadow. What it opens itself carries the shadow's name in front.
class Member {
public:
    Member(std::string shadow, const AgentSpec& spec, const AgentFacts& facts);

    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    [[nodiscard]] std::uint64_t interval() const noexcept { return agent_->interval(); }
    /// Of its shadow, as its actions have made it.
    [[nodiscard]] const Setting& setting() const noexcept { return setting_; }
    /// What it said of the coming step, if it was asked: keep otherwise.
    [[nodiscard]] const Action& action() const noexcept { return action_; }

    /// Rows per step that its shadow fetched; below 0 where that is not known.
    [[nodiscard]] double cost(const Observation& seen) const;
    /// Asks it, if it is its turn; its orders and what it has to say are added to the answer. What
    /// it throws counts as keep.
    void ask(const Observation& seen, Answer& answer);
    void cancel() noexcept { agent_->cancel(); }
    [[nodiscard]] std::string learned() const { return agent_->learned(); }

private:
    void collect(const Observation& seen);
    void act(const Observation& seen, Answer& answer);
    [[nodiscard]] std::string inner(std::string_view name) const;

    std::string shadow_;
    std::string text_;
    std::unique_ptr<Agent> agent_;
    bool opened_ = false;
    std::optional<std::uint64_t> last_;  ///< step at which it was asked
    std::uint64_t sequence_ = 0;
    std::uint64_t changed_ = 0;
    Setting setting_;
    Action action_;
    Observation view_;  ///< collected since it was asked
};

}  // namespace rudder::steer
