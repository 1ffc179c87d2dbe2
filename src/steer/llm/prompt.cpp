#include "prompt.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "core/json.hpp"
#include "steer/knob_range.hpp"

#include "known_effects.hpp"

namespace rudder::steer {

namespace {

constexpr std::string_view task =
    R"(You steer the feature buffer of one machine in a distributed training of a graph neural network.
Each step needs feature rows of remote vertices. Rows in the buffer are hits; the others are fetched
over the network. A policy decides which rows stay. Your action changes the policy or its numbers, or
keeps them. It never changes what is learned, only what is fetched and how long steps wait.
)";

constexpr std::string_view form =
    R"(Reply with one JSON object and nothing else:
  {"action": "keep"}  nothing changes. Best where nothing clearly better is known.
  {"action": "replace", "fraction": F}  replace up to this share of the buffer now. Only where the
      policy waits to be told. It fetches rows at once and pays back over later steps.
  {"action": "set", "knobs": {"window": 32}}  set one knob or several.
Optional keys: "reason", one of the codes of the schema; "expected_impact", an object with "hit_rate"
and "rows" (fetched per step), each "increase", "decrease" or "stagnant".
Judge by measured effects: a change pays only if the rows or seconds it saves over the steps left
exceed what it costs. Change little at a time, then look at what it did.
)";

/// "1 to 64", where numbers can be chosen.
std::string range_of(const Knob& k, const KnobLimits& limits) {
    if (k.kind == KnobKind::text) return "a policy, such as window:16";
    const KnobRange range = KnobRange::of(k, limits);
    return fmt::format("{} to {}", range.minimum, range.maximum);
}

std::string_view cost_text(CostKind cost) {
    return cost == CostKind::rows
               ? "Cost: rows fetched per step (demand + replacement + ahead). Lower is better."
               : "Cost: seconds per step that training waits for rows (stall). Lower is better; "
                 "rows that are fetched while training computes cost nothing.";
}

/// A count over the steps of a window.
double per_step(std::uint64_t rows, const Rows& of) {
    return of.steps == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(of.steps);
}

std::string action_text(const Action& action) {
    switch (action.kind) {
        case ActionKind::keep:
            return "keep";
        case ActionKind::replace:
            return fmt::format("replace {}", action.fraction);
        case ActionKind::set:
            break;
    }
    return "set " + text_of(std::span(action.knobs));
}

std::string shadow_line(std::string_view name, const ShadowReading& shadow) {
    return fmt::format("{} ({}): rows_per_step {:.1f}, hit_rate {:.4f}\n", name,
                       text_of(shadow.setting), per_step(shadow.rows.fetched(), shadow.rows),
                       hit_rate(shadow.rows));
}

std::string seconds_line(const Seconds& seconds) {
    if (seconds.steps == 0) return {};
    const auto each = [&](double all) { return all / static_cast<double>(seconds.steps); };
    return fmt::format(
        "seconds_per_step: step {:.5f}, fetch {:.5f}, stall {:.5f}, compute {:.5f}\n",
        each(seconds.step), each(seconds.fetch), each(seconds.stall), each(seconds.compute));
}

}  // namespace

std::uint64_t estimated_tokens(std::string_view text) noexcept {
    std::uint64_t tokens = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto is = [&](int (*kind)(int)) {
            return kind(static_cast<unsigned char>(text[at])) != 0;
        };
        const std::size_t from = at;
        if (is(&std::isalpha)) {
            while (at < text.size() && is(&std::isalpha))
                ++at;
            tokens += (at - from + 3) / 4;
        } else if (is(&std::isdigit)) {
            while (at < text.size() && is(&std::isdigit))
                ++at;
            tokens += (at - from + 1) / 2;
        } else {
            if (text[at++] != ' ') ++tokens;
        }
    }
    return tokens;
}

std::string system_message(const AgentFacts& facts) {
    std::string text(task);
    text += fmt::format(
        "\nThe run: {} steps, {} per epoch; buffer of up to {} rows; it began with {}; "
        "built-in rule: {}.\n",
        facts.steps, facts.steps_per_epoch, facts.limits.slots, text_of(facts.start),
        facts.built_in.text());
    if (!facts.llm.about.empty()) text += facts.llm.about + "\n";
    text += fmt::format("{}\n\nKnobs (name: range. What it sets. Cost of a change):\n",
                        cost_text(facts.cost));
    for (const Knob& k : all_knobs()) {
        text += fmt::format("  {}: {}. {} Costs {}.\n", k.name, range_of(k, facts.limits),
                            k.sentence, k.cost);
    }
    text += "A knob that is not shown under 'setting' does nothing with the present policy.\n\n";
    return text += form;
}

std::string history_line(const PastDecision& past) {
    const std::string verdict = !past.correct   ? ""
                                : *past.correct ? "; no worse than the alternative"
                                                : "; worse than the alternative";
    return fmt::format(
        "step {}: {} ({}): hit_rate {:.4f} to {:.4f}, rows_per_step {:.1f} to {:.1f}{}\n",
        past.step, action_text(past.action), past.status, past.hit_rate_before, past.hit_rate_after,
        past.rows_before, past.rows_after, verdict);
}

std::string observation_text(const Observation& o) {
    std::string text = fmt::format("step: {} of {}, {} left\n", o.step, o.steps, o.steps_left());
    text += fmt::format(
        "last {} steps: hit_rate {:.4f}, needed_per_step {:.1f}, rows_per_step "
        "{:.1f} (demand {:.1f}, replacement {:.1f}, ahead {:.1f}, wasted {:.1f})\n",
        o.rows.steps, o.hit_rate(), per_step(o.rows.needed, o.rows),
        per_step(o.rows.fetched(), o.rows), per_step(o.rows.demand, o.rows),
        per_step(o.rows.replacement, o.rows), per_step(o.rows.ahead, o.rows),
        per_step(o.rows.wasted, o.rows));
    text += fmt::format("all steps: hit_rate {:.4f}, rows_per_step {:.1f}\n", hit_rate(o.total),
                        per_step(o.total.fetched(), o.total));
    text += seconds_line(o.seconds);
    text += fmt::format("cost_per_step: {:.5g} {}\n", o.cost_per_step(), to_string(o.cost));
    text += fmt::format("row_bytes: {}, halo_rows: {}, candidates: {}, steps_since_change: {}\n",
                        o.row_bytes, o.halo, o.candidates, o.since_change);
    text += shadow_line("this setting on a sample", o.twin);
    text += shadow_line("built-in rule on the same sample", o.built_in);
    text += "setting:";
    for (const Knob& k : all_knobs()) {
        const auto value = knob_value(o.setting, k.id);
        if (!value) continue;
        const auto* words = std::get_if<std::string>(&*value);
        text += words != nullptr ? fmt::format(" {} {};", k.name, *words)
                                 : fmt::format(" {} {};", k.name, std::get<double>(*value));
    }
    text += o.takes_decisions ? "\nthe policy replaces when told to\n"
                              : "\nthe policy replaces by itself; 'replace' is not possible\n";
    return text;
}

FittedMessage fitted_message(std::span<const std::string> history, std::string_view heading,
                             const std::string& rest, const TokenBudget& budget) {
    std::uint64_t used = budget.count(rest) + budget.count(heading);
    std::size_t first = history.size();
    for (; first > 0; --first) {
        used += budget.count(history[first - 1]);
        if (used > budget.tokens) break;
    }
    // Texts side by side may take other tokens than each alone, so the whole is counted as well.
    for (; first < history.size(); ++first) {
        std::string text(heading);
        for (const std::string& line : history.subspan(first))
            text += line;
        text += rest;
        if (budget.count(text) <= budget.tokens) return {std::move(text), first};
    }
    return {rest, history.size()};
}

FittedMessage user_message(const Observation& observation, std::size_t history,
                           const std::string& problem, const TokenBudget& budget) {
    const std::size_t skipped =
        observation.history.size() - std::min(history, observation.history.size());
    std::vector<std::string> lines;
    for (std::size_t i = skipped; i < observation.history.size(); ++i)
        lines.push_back(history_line(observation.history[i]));
    std::string now;
    if (!problem.empty()) now += fmt::format("Your last reply was not used: {}.\n\n", problem);
    now += "Now:\n" + observation_text(observation);
    const auto with_effects = [&](bool of_history) {
        return now + effects_text(observation, of_history) + "What is your action?";
    };
    std::string rest = with_effects(history > 0);
    if (budget.count(rest) > budget.tokens) rest = with_effects(false);
    return fitted_message(lines, "Your past decisions, oldest first:\n", rest, budget);
}

std::uint64_t room_for(std::string_view system, const Json& schema, const ChatSettings& settings) {
    const std::uint64_t used =
        estimated_tokens(system) + estimated_tokens(schema.dump()) + settings.tokens;
    return settings.context > used ? settings.context - used : 0;
}

}  // namespace rudder::steer
