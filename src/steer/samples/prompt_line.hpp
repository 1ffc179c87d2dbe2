// One question for a language model, and what each reply to it would have cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/fields.hpp"
#include "rudder/core/json_fwd.hpp"
#include "rudder/steer/action.hpp"

namespace rudder::steer {

/// An action and its price over the horizon.
struct PricedAction {
    Action action;
    std::uint64_t rows = 0;  ///< fetched
    /// Of stall, where the run itself did so and went on undisturbed.
    std::optional<double> seconds{};

    static constexpr auto fields =
        unnamed_fields(&PricedAction::action, &PricedAction::rows, &PricedAction::seconds);
};
static_assert(lists_all_fields<PricedAction>);

struct PromptLine {
    std::string system;
    std::string user;
    std::uint64_t step = 0;
    std::uint32_t host = 0;
    Setting setting;
    std::uint64_t horizon = 0;  ///< steps, fewer where the run ends before
    std::vector<PricedAction> actions;
    std::uint64_t keep = 0;  ///< its place among them

    static constexpr auto fields = unnamed_fields(
        &PromptLine::system, &PromptLine::user, &PromptLine::step, &PromptLine::host,
        &PromptLine::setting, &PromptLine::horizon, &PromptLine::actions, &PromptLine::keep);
};
static_assert(lists_all_fields<PromptLine>);

/// As a line of the output has it; `graph` is its name.
[[nodiscard]] Json to_json(const PromptLine& line, const std::string& graph);

}  // namespace rudder::steer
