// Two runs: what was set otherwise, which part of a step that changed, and what explains it.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/step_time.hpp"

#include "explanation.hpp"
#include "rules.hpp"
#include "setting_effects.hpp"

namespace rudder::report {

namespace {

/// A cause, and a part of a step that it makes longer.
struct Lengthens {
    std::string_view cause;
    std::string_view part;
};
constexpr std::array lengthens{
    Lengthens{cause::slow_link, "wait_rows"},
    Lengthens{cause::slow_link, "wait_gradients"},
    Lengthens{cause::slow_host, "wait_ranks"},
    Lengthens{cause::slow_host, "compute"},
    Lengthens{cause::skewed_parts, "wait_ranks"},
    Lengthens{cause::no_look_ahead, "wait_rows"},
    Lengthens{cause::no_buffer, "wait_rows"},
    Lengthens{cause::one_thread, "compute"},
    Lengthens{cause::shared_cores, "compute"},
    Lengthens{cause::shared_cores, "wait_ranks"},
    Lengthens{cause::shared_cores, "wait_gradients"},
    Lengthens{cause::shared_cores, "rest"},
    Lengthens{cause::slow_sampling, "wait_rows"},
    Lengthens{cause::slow_assembling, "wait_rows"},
    Lengthens{cause::slow_policy, "wait_rows"},
    Lengthens{cause::evaluation_beside, "compute"},
    Lengthens{cause::waiting_agent, "wait_agent"},
    Lengthens{cause::costly_agent, "wait_rows"},
};

/// What limits one of two runs more than the other.
struct CausesOfOne {
    std::string names;  ///< by commas
    bool alone = true;  ///< none of them limits the other at all
};

/// Of those that make a part of a step longer: what the other lacks, or what costs this one more by
/// half of the difference or more.
CausesOfOne causes_of_one(const ExplainedRun& longer, const ExplainedRun& shorter,
                          const TimeChange& part) {
    constexpr double most_of_it = 0.5;
    const std::vector<Finding> others = findings_of(shorter);
    CausesOfOne found;
    for (const Finding& one : findings_of(longer)) {
        const bool acts = std::ranges::any_of(lengthens, [&](const Lengthens& l) {
            return l.cause == one.cause && l.part == part.key;
        });
        if (!acts) continue;
        const auto other = std::ranges::find(others, one.cause, &Finding::cause);
        if (other != others.end()) {
            const double more = one.gain.value_or(0) * longer.step.step -
                                other->gain.value_or(0) * shorter.step.step;
            if (more < most_of_it * std::abs(part.difference())) continue;
            found.alone = false;
        }
        found.names += fmt::format("{}{}", found.names.empty() ? "" : ", ", one.cause);
    }
    return found;
}

/// Options that say where results go, or what is looked at.
constexpr std::array<std::string_view, 8> beside_the_point{
    "out", "force", "resume", "plan", "metrics-address", "metrics-port", "quiet", "json"};

void add_settings(const ExplainedRun& before, const ExplainedRun& after,
                  std::vector<SettingChange>& changes) {
    const auto add = [&](const std::string& option) {
        if (std::ranges::find(beside_the_point, option) != beside_the_point.end()) return;
        const std::string a = before.setting(option);
        const std::string b = after.setting(option);
        if (a != b) changes.push_back({option, a, b, first_part_of(option)});
    };
    for (const auto& [option, value] : before.settings)
        add(option);
    for (const auto& [option, value] : after.settings)
        if (!before.settings.contains(option)) add(option);
    const auto add_fact = [&](std::string_view name, const std::string& a, const std::string& b) {
        // What a run does not tell may be the same.
        if (a.empty() || b.empty() || a == b) return;
        changes.push_back({std::string(name), a, b, first_part_of(name)});
    };
    const auto add_number = [&](std::string_view name, double a, double b) {
        add_fact(name, fmt::format("{}", a), fmt::format("{}", b));
    };
    add_number("ranks", before.ranks, after.ranks);
    add_number("hosts", before.hosts, after.hosts);
    if (!before.settings.contains("threads")) add_number("threads", before.threads, after.threads);
    add_fact("partition", before.partition, after.partition);
    add_fact("host", before.host, after.host);
    if (before.cores > 0 && after.cores > 0) add_number("cores", before.cores, after.cores);
    add_fact("version", before.version, after.version);
}

std::string change_text(const SettingChange& change) {
    const auto shown = [](const std::string& value) { return value.empty() ? "not given" : value; };
    return fmt::format("{} ({}, then {})", change.option, shown(change.before),
                       shown(change.after));
}

/// Of the options that differ: those that act on the part that changed most, and that way.
std::string options_that_explain(const RunDifference& d, const TimeChange& most) {
    std::string all;
    for (const SettingChange& change : d.settings) {
        if (may_explain(change, most.key, most.difference() > 0))
            all += (all.empty() ? "" : ", ") + change_text(change);
    }
    return all;
}

std::string explain_difference(const RunDifference& d, const ExplainedRun& before,
                               const ExplainedRun& after) {
    constexpr double same = 0.05;
    if (std::abs(d.step.difference()) < same * std::max(d.step.before, d.step.after))
        return "Steps take as long in both, within 5 %.";
    const TimeChange& most = d.parts.front();
    const bool longer = d.step.difference() > 0;
    std::string text =
        fmt::format("Of the {:.2f} ms by which a step is {}, {:.2f} ms are {}",
                    std::abs(d.step.difference()) * 1e3, longer ? "longer" : "shorter",
                    std::abs(most.difference()) * 1e3, most.words);
    const std::string options = options_that_explain(d, most);
    const CausesOfOne causes =
        causes_of_one(longer ? after : before, longer ? before : after, most);
    if (!options.empty()) text += fmt::format(", which is explained by {}", options);
    if (!causes.names.empty()) {
        text += fmt::format(
            ", {} what limits the {} {}: {}", options.empty() ? "which goes with" : "and goes with",
            longer ? "second" : "first", causes.alone ? "alone" : "more", causes.names);
    }
    if (!options.empty() || !causes.names.empty()) return text + ".";
    if (d.settings.empty())
        return text + ", and no option differs: the machines, or what else ran on them, did.";
    return text + ", which none of what was set otherwise explains; see below.";
}

}  // namespace

RunDifference difference_of(const ExplainedRun& before, const ExplainedRun& after) {
    RunDifference d{.step = {"step", "step", before.step.step, after.step.step}};
    for (const StepPart& part : step_parts) {
        d.parts.push_back(
            {part.words, part.key, before.step.*part.seconds, after.step.*part.seconds});
    }
    std::ranges::stable_sort(d.parts, std::greater<>(), [&](const TimeChange& c) {
        // What changed the other way explains nothing.
        const bool same_way = (c.difference() < 0) == (d.step.difference() < 0);
        return same_way ? std::abs(c.difference()) : 0.0;
    });
    add_settings(before, after, d.settings);
    d.explanation = explain_difference(d, before, after);
    return d;
}

std::string difference_text(const ExplainedRun& before, const ExplainedRun& after,
                            const RunDifference& difference) {
    std::string text = difference.explanation + "\n\n";
    text +=
        fmt::format("{:<20}{:>14}{:>14}{:>14}\n", "ms of a step", "first", "second", "difference");
    const auto line = [&](const TimeChange& change) {
        text += fmt::format("  {:<18}{:>14.2f}{:>14.2f}{:>+14.2f}\n", change.words,
                            change.before * 1e3, change.after * 1e3, change.difference() * 1e3);
    };
    line(difference.step);
    for (const TimeChange& part : difference.parts)
        if (part.before > 0 || part.after > 0) line(part);
    const auto rows = [](const ExplainedRun& run) {
        return run.steps > 0 ? run.fetched / run.steps / run.ranks : 0;
    };
    text += fmt::format("  {:<18}{:>14.0f}{:>14.0f}{:>+14.0f}\n", "rows fetched", rows(before),
                        rows(after), rows(after) - rows(before));
    if (!difference.settings.empty()) text += "\nSet otherwise:\n";
    for (const SettingChange& change : difference.settings)
        text += fmt::format("  {}\n", change_text(change));
    return text;
}

Json difference_json(const RunDifference& difference) {
    Json parts = Json::array();
    const auto add = [&](const TimeChange& change) {
        parts.push_back({{"part", change.key}, {"before", change.before}, {"after", change.after}});
    };
    add(difference.step);
    for (const TimeChange& part : difference.parts)
        add(part);
    Json settings = Json::array();
    for (const SettingChange& change : difference.settings) {
        settings.push_back({{"option", change.option},
                            {"before", change.before},
                            {"after", change.after},
                            {"acts_on", change.acts_on}});
    }
    return {{"explanation", difference.explanation},
            {"times", std::move(parts)},
            {"settings", std::move(settings)}};
}

}  // namespace rudder::report
