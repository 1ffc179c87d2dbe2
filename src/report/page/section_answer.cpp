// The answer: how it ended, a paragraph, the numbers that matter most, and what is missing.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sections.hpp"

namespace rudder::report {

namespace {

/// A number with its exact value beside what people read.
void number(Html& html, double value, const std::string& text) {
    html.open("strong").leaf("data", text, {{"value", fmt::format("{}", value)}}).close();
}

void accuracy_sentence(Html& html, const ShownRun& shown) {
    const Answers& a = shown.answers;
    if (simulated(shown)) {
        html.text("The run was simulated: rows and bytes are real, times are a model\u2019s");
    } else if (a.mrr) {
        html.text("Links for test have a mean reciprocal rank of ");
        number(html, *a.mrr, fmt::format("{:.4f}", *a.mrr));
    } else if (a.test) {
        number(html, *a.test, percent_text(*a.test));
        html.text(" of the test vertices are right");
    } else if (a.valid) {
        number(html, *a.valid, percent_text(*a.valid));
        html.text(" of the validation vertices are right");
    } else {
        html.text("No accuracy was measured");
    }
    if (a.test && a.best_epoch)
        html.text(fmt::format(" (epoch {}, the best by validation)", count_text(*a.best_epoch)));
    if (a.seconds) {
        html.text(", after ");
        number(html, *a.seconds, seconds_text(*a.seconds));
    }
    if (a.steps) html.text(" and " + counted(*a.steps, "step", "steps"));
    if (a.ranks) html.text(" on " + counted(*a.ranks, "rank", "ranks"));
    html.text(". ");
}

void time_sentence(Html& html, const Answers& a) {
    if (!a.stall) return;
    html.text("Of a step\u2019s time ");
    number(html, *a.compute, percent_text(*a.compute));
    html.text(" was computing, ");
    number(html, *a.stall, percent_text(*a.stall));
    html.text(" waiting for rows, ");
    number(html, *a.reduce, percent_text(*a.reduce));
    html.text(" waiting for gradients");
    if (*a.slower > 0) {
        html.text(", ");
        number(html, *a.slower, percent_text(*a.slower));
        html.text(" waiting for slower ranks");
    }
    if (*a.agent_wait > 0) {
        html.text(", ");
        number(html, *a.agent_wait, percent_text(*a.agent_wait));
        html.text(" waiting for the agent");
    }
    html.text(fmt::format(" and {} the rest. ", percent_text(*a.rest)));
}

/// The policy, and the one that the agent went to.
void write_policy(Html& html, const ShownRun& shown) {
    const auto& policies = shown.run.metrics.policies;
    if (shown.answers.policy.empty()) return;
    html.text(" (").leaf("code", shortened(shown.answers.policy, 80));
    if (policies.size() > 1 && policies.back().second != shown.answers.policy)
        html.text(", in the end ").leaf("code", shortened(policies.back().second, 80));
    html.text(")");
}

void rows_sentence(Html& html, const ShownRun& shown) {
    const Answers& a = shown.answers;
    if (!a.remote || !a.fetched || !a.saved) return;
    html.text("Of the rows of other hosts that it needed, ");
    number(html, *a.hit_rate, percent_text(*a.hit_rate));
    html.text(" were in the buffer");
    write_policy(html, shown);
    html.text(": ");
    number(html, *a.fetched, count_text(*a.fetched));
    html.text(fmt::format(" rows were fetched instead of {} without one, {} {}",
                          count_text(*a.remote), percent_text(std::abs(*a.saved)),
                          *a.saved >= 0 ? "fewer" : "more"));
    if (a.over_floor) {
        html.text(", and ");
        number(html, *a.over_floor, ratio_text(*a.over_floor));
        html.text(" times the clairvoyant floor");
    } else {
        html.text("; the floor is not known (train with ").leaf("code", "--trace").text(")");
    }
    html.text(". ");
}

void agent_sentence(Html& html, const Answers& a) {
    if (a.agent.empty()) {
        html.text("Nobody steered. ");
        return;
    }
    html.text("Agent ").leaf("code", shortened(a.agent, 80));
    if (!a.decisions || *a.decisions == 0) {
        html.text(" took no decision. ");
        return;
    }
    html.text(fmt::format(" decided {}", counted(*a.decisions, "time", "times")));
    if (a.applied) {
        html.text(*a.applied == 0
                      ? std::string(" and changed nothing")
                      : fmt::format(" and acted {}", counted(*a.applied, "time", "times")));
    }
    const bool no_effect = a.excess && std::abs(*a.excess) < 0.0005;
    if (a.right && a.judged && *a.judged > 0 && !no_effect) {
        html.text("; ");
        number(html, *a.right, percent_text(*a.right));
        html.text(fmt::format(" of the {} that {}{} were {} than the alternative",
                              count_text(*a.judged), a.no_effect ? "had an effect" : "were judged",
                              a.regret_error ? " or failed" : "",
                              a.no_effect ? "better" : "no worse"));
    }
    if (a.no_effect && *a.no_effect > 0 && !no_effect) {
        html.text(fmt::format("; {} of the judged had no effect: as many rows either way",
                              count_text(*a.no_effect)));
    }
    if (no_effect) {
        html.text("; it had no effect: as many rows as the built-in rule");
    } else if (a.excess) {
        html.text("; ");
        number(html, *a.excess, percent_text(std::abs(*a.excess)));
        html.text(*a.excess > 0 ? " more rows than the built-in rule"
                                : " fewer rows than the built-in rule");
    }
    if (a.regret) {
        html.text("; its regret is ");
        number(html, *a.regret, percent_text(*a.regret));
        if (a.regret_error && *a.regret_error > 0)
            html.text(fmt::format(" (error {})", percent_text(*a.regret_error)));
        html.text(fmt::format(", against {}", a.regret_against));
    }
    html.text(". ");
}

std::string state_sentence(const ShownRun& shown) {
    const RunData& run = shown.run;
    const Answers& a = shown.answers;
    const std::string done = a.steps ? count_text(*a.steps) : "an unknown number of";
    const std::string of =
        a.steps_planned ? fmt::format(" of {}", count_text(*a.steps_planned)) : "";
    switch (run.state) {
        case RunStatus::finished:
            return run.summary.number("stopped_early").value_or(0) != 0
                       ? "The run finished early, since validation no longer improved."
                       : "The run finished.";
        case RunStatus::interrupted:
            return fmt::format(
                "The run was interrupted after {}{} steps; its last checkpoint is "
                "valid.",
                done, of);
        case RunStatus::failed: {
            const std::string error = run.run.text("error");
            return fmt::format("The run failed after {}{} steps{}", done, of,
                               error.empty() ? std::string(".") : ": " + shortened(error, 400));
        }
        case RunStatus::killed:
            return fmt::format(
                "The run was killed, or its machine failed, after {}{} steps: it "
                "is marked as running, but no process writes to it any more.",
                done, of);
        case RunStatus::running:
            return fmt::format("The run is still running: this page shows its first {}{} steps.",
                               done, of);
        case RunStatus::unfinished:
            break;
    }
    return fmt::format("The run has no end: {} steps are recorded, and no summary.", done);
}

struct Tile {
    Literal name;
    std::optional<double> value;
    Unit unit;
    std::string below;
    Literal key;  ///< in summary.json, or what it is called here
};

void write_tile(Html& html, const Tile& tile) {
    html.open("div", {{"class", "tile"}}).leaf("dt", tile.name.view());
    html.open("dd");
    if (tile.value) {
        constexpr double long_count = 1e8;  // longer than a tile is wide
        std::string text = value_text(tile.value, tile.unit);
        if (tile.unit == Unit::plain) text = ratio_text(*tile.value) + "\u00d7";
        if (tile.unit == Unit::count && *tile.value >= long_count)
            text = fmt::format("{:.1f}\u00a0M", *tile.value / 1e6);
        html.leaf("data", text,
                  {{"value", fmt::format("{}", *tile.value)},
                   {"data-key", std::string(tile.key.view())}});
    } else {
        html.leaf("span", "not known", {{"class", "none"}});
    }
    html.close().leaf("dd", tile.below, {{"class", "below"}}).close().line();
}

}  // namespace

void write_state(Html& html, const ShownRun& shown) {
    const std::string state(to_string(shown.run.state));
    html.leaf("span", state, {{"class", "state " + state}});
}

void write_answer(Html& html, const ShownRun& shown) {
    html.open("p", {{"class", "answer"}});
    accuracy_sentence(html, shown);
    time_sentence(html, shown.answers);
    rows_sentence(html, shown);
    agent_sentence(html, shown.answers);
    html.text(state_sentence(shown));
    html.close().line();
}

void write_tiles(Html& html, const ShownRun& shown) {
    const Answers& a = shown.answers;
    const auto below = [](const auto& value, Unit unit, const char* before, const char* behind) {
        return value ? before + value_text(value, unit) + behind : std::string();
    };
    html.open("dl", {{"class", "tiles"}}).line();
    write_tile(html, {"Test accuracy", a.test, Unit::share,
                      below(a.valid, Unit::share, "", " on validation"), "accuracy.test"});
    write_tile(html, {"Time", a.seconds, Unit::seconds,
                      below(a.step_seconds, Unit::seconds, "", " per step"), "seconds.total"});
    write_tile(html, {"Waiting for rows", a.stall, Unit::share, "of a step\u2019s time", "stall"});
    write_tile(html, {"Hit rate", a.hit_rate, Unit::share, "of remote rows", "hit_rate"});
    write_tile(html, {"Rows fetched", a.fetched, Unit::count,
                      below(a.saved, Unit::share, "", " saved by the buffer"), "fetched"});
    write_tile(html, {"Of the floor", a.over_floor, Unit::plain,
                      a.floor ? "clairvoyant: " + count_text(*a.floor)
                              : std::string("no trace; train with --trace"),
                      "over_floor"});
    html.close().line();
}

void write_missing(Html& html, const ShownRun& shown) {
    if (shown.run.missing.empty()) return;
    html.open("aside", {{"class", "missing"}, {"aria-label", "What is missing"}});
    html.leaf("h3", "What is missing").open("ul");
    constexpr std::size_t most = 40;
    for (std::size_t i = 0; i < std::min(most, shown.run.missing.size()); ++i)
        html.leaf("li", shortened(shown.run.missing[i], 500));
    html.close().close().line();
}

}  // namespace rudder::report
