// Findings about the network, the buffer and who steers it.
#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

#include "rules.hpp"

namespace rudder::report {

namespace {

/// A link of so many times the rate is what is compared with.
constexpr double faster_link = 10;
/// From here on the wire takes longer than all that does not wait for it.
constexpr double wire_too_long = 1.2;
/// Share of a step that waits for a network of unknown rate from which on that is the cause.
constexpr double mostly_network = 0.4;

std::string ms_text(double seconds) {
    return fmt::format("{:.2f} ms", seconds * 1e3);
}

/// The wire's time per step as it would be with a buffer.
std::optional<double> buffered_wire(const ExplainedRun& run) {
    const auto wire = run.wire();
    if (!wire || run.buffered) return wire;
    const double rows = run.wire_bytes > 0 ? std::min(1.0, run.feature_bytes / run.wire_bytes) : 0;
    const double kept = run.remote > 0 ? run.kept() / run.remote : 1;
    return *wire * (1 - buffer_saves * rows * kept);
}

bool looks_ahead(const ExplainedRun& run) {
    if (run.in_flight && *run.in_flight < 1.5) return false;
    return !run.buffered || !run.window || *run.window >= 1.5;
}

void add_waits(const ExplainedRun& run, Finding& finding) {
    finding.evidence.push_back(step_evidence(run, "wait_rows", run.step.wait_rows));
    finding.evidence.push_back(step_evidence(run, "wait_gradients", run.step.wait_gradients));
}

}  // namespace

MaybeFinding find_slow_link(const ExplainedRun& run) {
    const double waits = run.wait_of_network() + run.step.wait_gradients;
    if (run.hosts < 2) return {};
    Finding found{.cause = cause::slow_link};
    if (const auto wire = buffered_wire(run)) {
        // A rank that computes longer than the others may hide it.
        const double needed = *wire / std::max(run.own() - uneven_compute(run), 1e-9);
        if (needed < wire_too_long) return {};
        // What a buffer would save is no gain of the link.
        const double now =
            run.buffered ? run.step.step : std::max(run.step.step - run.step.wait_rows, *wire);
        const double left = std::max(run.own(), *wire / faster_link);
        found.text = fmt::format(
            "Slow link: at {:.2f} of the rate at which steps would not wait for it, so that rows "
            "and gradients take {} of a step on the wire.",
            1 / needed, ms_text(*run.wire()));
        const double work = run.busy().value_or(0) * run.step.step;
        found.gain = gain_of_step(run, now - std::max(left, work));
        found.formula = fmt::format(
            "step{} - max(step - wait_rows - wait_gradients, wire / {:.0f}, work), wire = bytes "
            "of a host per step / rate, work = CPU time of a step / cores",
            run.buffered ? "" : " with a buffer", faster_link);
        found.confidence = confidence_in(run, true);
        found.evidence.push_back(
            plain_evidence("link rate, MB/s", run.modelled->rate / 1e6, "summary.json"));
    } else {
        // Of one machine without a modelled link: there is none.
        if (run.machine_ranks >= run.ranks || run.share(waits) < mostly_network) return {};
        if (!run.buffered || !looks_ahead(run)) return {};
        found.text = fmt::format(
            "Slow link, or owners of rows that are slow to answer: {} of a step pass in waiting "
            "for rows and gradients.",
            format_percent(run.share(waits)));
        found.gain = gain_of_step(run, waits * (1 - 1 / faster_link));
        found.formula = fmt::format("(wait_rows + wait_gradients) x (1 - 1 / {:.0f})", faster_link);
        found.confidence = Confidence::low;
    }
    add_waits(run, found);
    found.evidence.push_back(plain_evidence("bytes.features", run.feature_bytes, run.totals));
    found.change = fmt::format(
        "a link of {:.0f} times the rate, which the gain is of; or fewer bytes: {}--coding auto",
        faster_link, run.learned > 0 ? "" : "--precision bfloat16 or int8, a larger --buffer, ");
    return found;
}

MaybeFinding find_no_look_ahead(const ExplainedRun& run) {
    if (run.hosts < 2 || looks_ahead(run) || run.share(run.wait_of_rows()) < worth_a_word / 2)
        return {};
    if (run.learned > 0 && run.kept() <= 0) return {};
    // Without a buffer one step's rows are asked for while another computes: no sooner.
    const double asked = run.buffered ? 0 : run.step.fetch;
    Finding found{.cause = cause::no_look_ahead};
    found.text = fmt::format(
        "No look-ahead: rows are asked for when a step begins, which then waits {} for them.",
        ms_text(run.wait_of_rows()));
    found.evidence.push_back(step_evidence(run, "wait_rows", run.step.wait_rows));
    if (run.window)
        found.evidence.push_back(plain_evidence("knobs.window", *run.window, "metrics.jsonl"));
    if (run.in_flight)
        found.evidence.push_back(plain_evidence("in-flight", *run.in_flight, "config.toml"));
    if (!run.buffered && run.step.fetch > 0)
        found.evidence.push_back(step_evidence(run, "fetch", run.step.fetch));
    // A buffer is a gain of its own, of which another finding tells.
    found.change = run.buffered
                       ? "--policy window (its length follows from the data) and --in-flight 2"
                       : "--in-flight 2";
    set_gain(run, found, std::max(run.step.step - run.wait_of_rows(), asked));
    found.formula = fmt::format(
        "step - max(step - wait_rows, wire{}, work): what these do not need is hidden, work = CPU "
        "time of a step / cores",
        run.buffered ? "" : ", fetch");
    found.confidence = confidence_in(run, run.wire().has_value());
    return found;
}

MaybeFinding find_no_buffer(const ExplainedRun& run) {
    if (run.buffered || run.hosts < 2 || run.kept() <= 0) return {};
    if (run.share(run.wait_of_rows()) < worth_a_word) return {};
    const double least =
        std::max(run.step.step - run.wait_of_rows(), buffered_wire(run).value_or(0));
    Finding found{.cause = cause::no_buffer};
    found.text = fmt::format(
        "No buffer: all {} remote rows of a step travel every time, and steps wait {} for them.",
        format_count(static_cast<std::uint64_t>(run.kept() / run.steps / run.ranks)),
        ms_text(run.wait_of_rows()));
    found.evidence.push_back(step_evidence(run, "wait_rows", run.step.wait_rows));
    found.evidence.push_back(plain_evidence("buffer_rows", 0, "summary.json"));
    found.evidence.push_back(plain_evidence("rows.demand", run.fetched, run.totals));
    found.change = "--policy window --buffer 0.25";
    const double work = run.busy().value_or(0) * run.step.step;
    found.gain = gain_of_step(run, run.step.step - std::max(least, work));
    found.formula = fmt::format(
        "step - max(step - wait_rows, wire x (1 - {} x share of {} in the bytes), work), work = "
        "CPU time of a step / cores",
        buffer_saves, run.learned > 0 ? "rows that are not learned" : "rows");
    found.confidence = std::min(Confidence::medium, confidence_in(run, true));
    return found;
}

MaybeFinding find_one_host(const ExplainedRun& run) {
    if (run.hosts > 1 || run.remote > 0) return {};
    Finding found{.cause = cause::one_host};
    found.text =
        "One host, so that nothing is remote: no row travels, and buffer, look-ahead and agent "
        "have "
        "nothing to do.";
    found.evidence.push_back(plain_evidence("hosts", run.hosts, "summary.json"));
    found.evidence.push_back(plain_evidence("rows.hit + rows.demand", run.remote, run.totals));
    found.change = run.ranks > 1
                       ? "--ranks-per-host 1 --link 100us,1gbit to see steering on one machine"
                       : "--ranks 4 --ranks-per-host 1 --link 100us,1gbit to see steering on one "
                         "machine";
    found.formula = "none: it costs no time";
    found.confidence = Confidence::high;
    return found;
}

MaybeFinding find_waiting_agent(const ExplainedRun& run) {
    if (run.share(run.step.wait_agent) < worth_a_word / 2) return {};
    Finding found{.cause = cause::waiting_agent};
    found.text = fmt::format("Agent that steps wait for: {} of a step pass until {} has answered.",
                             ms_text(run.step.wait_agent), run.agent);
    found.evidence.push_back(step_evidence(run, "wait_agent", run.step.wait_agent));
    found.change = "--agent-mode async, in which nobody waits for it";
    found.gain = gain_of_step(run, run.step.wait_agent);
    found.formula = "wait_agent";
    found.confidence = confidence_in(run, true);
    return found;
}

MaybeFinding find_costly_agent(const ExplainedRun& run) {
    constexpr double many = 0.02;
    if (!run.excess || *run.excess < many) return {};
    Finding found{.cause = cause::costly_agent};
    found.text =
        fmt::format("Agent that costs rows: {} fetched {} more rows than the built-in rule.",
                    run.agent, format_percent(*run.excess));
    found.evidence.push_back(plain_evidence("agent.excess", *run.excess, "summary.json"));
    found.change = "--agent never";
    const double rows = *run.excess / (1 + *run.excess);
    found.gain = gain_of_step(run, run.step.wait_rows * rows);
    found.formula = "wait_rows x excess / (1 + excess)";
    found.confidence = confidence_in(run, false);
    return found;
}

}  // namespace rudder::report
