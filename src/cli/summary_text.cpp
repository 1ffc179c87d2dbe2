#include "summary_text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/step_time.hpp"
#include "rudder/core/text.hpp"

#include "describe.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace rudder::cli {

namespace {

using train::Summary;

std::string share_text(const std::optional<double>& share) {
    return share ? fmt::format("{:.2f} %", *share * 100) : "-";
}

std::string percent(double part, double whole) {
    return fmt::format("{:.0f} %", whole > 0 ? part / whole * 100 : 0.0);
}

void add_answer(const Summary& s, KeyValues& lines) {
    if (!s.best_epoch || !s.accuracy.valid) return;
    if (s.mrr && s.hits && s.auc) {
        lines.emplace_back(
            "links", fmt::format("MRR test {:.4f}, valid {:.4f}; hits@10 {:.4f}, AUC {:.4f} (epoch "
                                 "{} of {}, best by validation)",
                                 s.mrr->test, s.mrr->valid, s.hits->first_10.test, s.auc->test,
                                 format_count(*s.best_epoch), format_count(s.epochs)));
    } else {
        lines.emplace_back(
            "accuracy",
            fmt::format("test {}, valid {}, train {} (epoch {} of {}, best by validation)",
                        share_text(s.accuracy.test), share_text(s.accuracy.valid),
                        share_text(s.accuracy.train), format_count(*s.best_epoch),
                        format_count(s.epochs)));
    }
    if (s.evaluations.value_or(s.epochs) != s.epochs) {
        lines.emplace_back(
            "evaluated",
            fmt::format("{} of {} epochs, lately every {}", format_count(*s.evaluations),
                        format_count(s.epochs), format_count(s.eval_every.value_or(0))));
    }
}

/// What a step's time consists of; parts of hardly any are left out.
std::string parts_text(const Seconds& of, std::uint64_t steps) {
    const double each = 1e3 / static_cast<double>(std::max<std::uint64_t>(steps, 1));
    std::string text = fmt::format("{:.2f} ms:", of.step * each);
    std::string_view before = " ";
    for (const StepPart& part : step_parts) {
        const double seconds = of.*part.seconds;
        const bool shown = seconds > least_shown_part * of.step;
        if (!shown && part.seconds != &Seconds::compute) continue;
        text += fmt::format("{}{} {}", before, part.words, percent(seconds, of.step));
        if (part.seconds == &Seconds::wait_rows)
            text += fmt::format(" ({:.2f} ms)", seconds * each);
        before = ", ";
    }
    return text;
}

void add_time(const Summary& s, KeyValues& lines) {
    const Seconds of = with_all_parts(s.seconds.steps);
    lines.emplace_back(
        "time",
        fmt::format("{:.1f} s for {} steps, {:.2f} s per epoch, {:.1f} s CPU", s.seconds.total,
                    format_count(s.steps), s.seconds.epoch, s.seconds.cpu));
    lines.emplace_back("of each step", parts_text(of, s.steps * s.ranks));
    lines.emplace_back("background",
                       fmt::format("sampling {:.1f} s, fetching {:.1f} s, over {} ranks", of.sample,
                                   of.fetch, s.ranks));
}

/// Against a run that fetches every row of another host that a step needs.
std::string saved_text(const Summary& s) {
    const Rows& rows = s.rows.rows;
    const auto without = static_cast<double>(rows.hit + rows.demand);
    const auto fetched = static_cast<double>(rows.fetched());
    const double saved = without - fetched;
    const auto bytes = static_cast<double>(s.row_bytes) * std::abs(saved);
    std::string text =
        fmt::format("{}{} rows, {}: {} of what no buffer would fetch", saved < 0 ? "-" : "",
                    format_count(static_cast<std::uint64_t>(std::abs(saved))),
                    format_bytes(static_cast<std::uint64_t>(bytes)), percent(saved, without));
    if (s.rows.floor.value_or(0) > 0) {
        text += fmt::format("; fetched {:.3f} times the fewest possible",
                            fetched / static_cast<double>(*s.rows.floor));
    }
    return text;
}

/// How much shorter each kind of message became.
std::string coding_text(const comm::CodingTotals& coding) {
    std::string text;
    const auto add = [&](std::string_view name, const comm::CodedBytes& of) {
        if (of.messages == 0) return;
        if (!text.empty()) text += ", ";
        const double left = static_cast<double>(of.travelled) / static_cast<double>(of.plain);
        text += of.coded == 0
                    ? fmt::format("{} plain", name)
                    : fmt::format("{} {:.0f} % shorter ({} of {} messages)", name, (1 - left) * 100,
                                  format_count(of.coded), format_count(of.messages));
    };
    add("features", coding.features);
    add("topology", coding.topology);
    add("gradients", coding.gradients);
    add("evaluation", coding.evaluation);
    return fmt::format("{}, in {:.1f} s", text.empty() ? "nothing travelled" : text,
                       coding.seconds);
}

void add_rows(const Summary& s, KeyValues& lines) {
    const Rows& rows = s.rows.rows;
    const auto of = [&](std::uint64_t part) {
        return percent(static_cast<double>(part), static_cast<double>(rows.needed));
    };
    lines.emplace_back(
        "rows",
        fmt::format("{} needed: {} own, {} in the buffer, {} fetched on demand",
                    format_count(rows.needed), of(rows.local), of(rows.hit), of(rows.demand)));
    if (s.buffer_rows != 0 && rows.hit + rows.demand != 0)
        lines.emplace_back("buffer saved", saved_text(s));
    lines.emplace_back(
        "traffic",
        fmt::format("{}: {} of features, {} of gradients", format_bytes(s.bytes.received_total),
                    format_bytes(s.bytes.kinds.features), format_bytes(s.bytes.kinds.gradients)));
    if (s.coding) lines.emplace_back("coding", coding_text(*s.coding));
    if (s.gpu) {
        lines.emplace_back("GPU", fmt::format("{}; kernels {:.1f} s, uploads {:.1f} s, waited for "
                                              "{:.1f} s",
                                              s.gpu->device, s.gpu->kernel_seconds,
                                              s.gpu->upload_seconds, s.gpu->waiting_seconds));
    }
}

}  // namespace

std::string regret_text(const train::SummaryAgent& agent) {
    if (!agent.regret) return "-";
    const double error = agent.regret_error.value_or(0) * 100;
    return error == 0 ? fmt::format("{:+.1f} %", *agent.regret * 100)
                      : fmt::format("{:+.1f} % (error {:.1f})", *agent.regret * 100, error);
}

namespace {

/// What its answers were worth: those that came to the same either way are neither right nor wrong.
std::string judged_text(const train::SummaryAgent& agent) {
    if (!agent.no_effect) return {};  // an earlier version
    std::string text;
    if (agent.better) {
        const std::uint64_t of =
            agent.judged + agent.late + agent.invalid + agent.refused - *agent.no_effect;
        text += fmt::format(", {:.0f} % of {} better than otherwise", *agent.better * 100,
                            format_count(of));
    }
    if (*agent.no_effect != 0) {
        text += fmt::format(", {} of {} judged without effect", format_count(*agent.no_effect),
                            format_count(agent.judged));
    }
    return text;
}

/// One line about who steered.
std::string agent_text(const train::SummaryAgent& agent) {
    if (agent.decisions == 0) return fmt::format("{}: decided nothing", agent.name);
    std::string text = fmt::format("{}: {} decisions, {} applied", agent.name,
                                   format_count(agent.decisions), format_count(agent.applied));
    const auto add = [&](std::uint64_t count, std::string_view word) {
        if (count != 0) text += fmt::format(", {} {}", format_count(count), word);
    };
    add(agent.kept, "kept");
    add(agent.late, "late");
    add(agent.invalid, "invalid");
    add(agent.refused, "refused");
    add(agent.undone, "undone");
    text += judged_text(agent);
    if (agent.excess) {
        const double more = *agent.excess;
        text += std::abs(more) < 0.0005
                    ? ", no effect: as many rows as the built-in rule"
                    : fmt::format(", {:.1f} % {} rows than the built-in rule", std::abs(more) * 100,
                                  more > 0 ? "more" : "fewer");
    }
    if (agent.cpu_share) text += fmt::format(", {:.1f} % of the CPU time", *agent.cpu_share * 100);
    if (agent.breaker_openings != 0)
        text += fmt::format(", circuit breaker opened {} times", agent.breaker_openings);
    return text;
}

void add_run(const Summary& s, KeyValues& lines) {
    // A simulated run has none.
    if (!s.loss.digest.empty()) {
        lines.emplace_back("loss", fmt::format("{:.4f} at first, {:.4f} at last, digest {}",
                                               s.loss.first, s.loss.last, s.loss.digest));
    }
    lines.emplace_back("run", fmt::format("policy {}, topology {}, precision {}, {} steps ahead",
                                          s.policy, s.topology, s.precision, s.steps_ahead));
    if (s.agent.name != "never") lines.emplace_back("agent", agent_text(s.agent));
    // Which language model it was: nobody need have named one.
    if (s.agent.name.starts_with("llm") && !s.agent.learned.empty())
        lines.emplace_back("model", s.agent.learned.front());
}

/// Values in as many lines as they need, each under the first.
KeyValues broken(const KeyValues& lines, std::size_t columns) {
    constexpr std::size_t least_room = 16;
    std::size_t keys = 0;
    for (const auto& [key, value] : lines)
        keys = std::max(keys, display_width(key));
    const std::size_t room = columns > keys + 3 + least_room ? columns - keys - 3 : least_room;
    KeyValues all;
    for (const auto& [key, value] : lines) {
        std::string line;
        for (const std::string_view word : split(value, ' ')) {
            if (!line.empty() && columns_of(line) + 1 + columns_of(word) > room) {
                all.emplace_back(key, line);
                line.clear();
            }
            line += (line.empty() ? "" : " ") + std::string(word);
        }
        all.emplace_back(key, line);
    }
    return all;
}

/// Broken, and without what matters least where that makes too many lines.
KeyValues fitted(KeyValues lines, std::size_t columns) {
    constexpr std::size_t most_lines = 20;
    for (const char* key : {"background", "coding", "traffic", "run", "loss", "rows"}) {
        if (broken(lines, columns).size() <= most_lines) break;
        std::erase_if(lines, [&](const auto& line) { return line.first == key; });
    }
    return broken(lines, columns);
}

}  // namespace

std::string summary_text(const Summary& summary, const std::optional<report::Finding>& finding,
                         const std::string& folder, std::size_t columns) {
    KeyValues lines;
    add_answer(summary, lines);
    add_time(summary, lines);
    add_rows(summary, lines);
    add_run(summary, lines);
    if (finding) {
        lines.emplace_back("limited by", finding->text);
        lines.emplace_back("to try next", finding->change);
    }
    if (folder.empty()) {
        lines.emplace_back("to keep it", "--out FOLDER: weights, metrics, reports, explain");
    } else {
        lines.emplace_back("to look at",
                           fmt::format("rudder explain {0}, rudder report {0}", folder));
    }
    if (columns != 0) lines = fitted(std::move(lines), columns);
    for (std::size_t i = lines.size() - 1; i > 0; --i)
        if (lines[i].first == lines[i - 1].first) lines[i].first.clear();
    return key_values(lines);
}

std::string plan_items(const train::TrainPlan& plan) {
    std::vector<std::pair<std::uint64_t, std::string_view>> items{
        {plan.topology_bytes, "topology"},   {plan.store_bytes, "features"},
        {plan.network_bytes, "network"},     {plan.in_flight_bytes, "rows in flight"},
        {plan.buffer_bytes, "buffer"},       {plan.bookkeeping_bytes, "bookkeeping"},
        {plan.queue_bytes, "batches ahead"}, {plan.evaluation_bytes, "evaluation"}};
    std::erase_if(items, [](const auto& item) { return item.first == 0; });
    std::ranges::sort(items, std::greater<>());
    std::string text;
    for (const auto& [bytes, name] : items)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, format_bytes(bytes));
    return text;
}

std::string plan_text(const train::TrainPlan& plan, int ranks) {
    const auto bytes = [](double value) { return format_bytes(static_cast<std::uint64_t>(value)); };
    const auto count = [](double value) { return format_count(static_cast<std::uint64_t>(value)); };
    std::vector<std::pair<std::string, std::string>> lines{
        {"ranks", fmt::format("{}", ranks)},
        {"steps per epoch", format_count(plan.steps_per_epoch)},
        {"parameters", format_count(plan.parameters)},
        {"topology", fmt::format("{}, {}", plan.topology, format_bytes(plan.topology_bytes))},
        {"features", fmt::format("{} in memory, the rest mapped", format_bytes(plan.store_bytes))},
        {"network", format_bytes(plan.network_bytes)},
        {"rows in flight", format_bytes(plan.in_flight_bytes)},
        {"buffer", format_bytes(plan.buffer_bytes)},
        {"bookkeeping",
         fmt::format("{}: {:.1f} bytes for each of {} remote rows",
                     format_bytes(plan.bookkeeping_bytes), plan.bytes_per_remote_row(),
                     format_count(plan.remote_vertices))},
        {"batches ahead",
         fmt::format("{}: {:.1f} bytes for each of {} edges", format_bytes(plan.queue_bytes),
                     plan.bytes_per_edge(), format_count(plan.edges_ahead))},
        {"evaluation", format_bytes(plan.evaluation_bytes)},
        {"memory", fmt::format("{} of {} on the host that needs most",
                               format_bytes(plan.needed_bytes()), format_bytes(plan.memory_bytes))},
        {"rows per epoch",
         fmt::format("{}, {} of them from other hosts", count(plan.rows), count(plan.remote_rows))},
        {"traffic per epoch",
         fmt::format("{} of features, {} of gradients{}", bytes(plan.feature_bytes),
                     bytes(plan.gradient_bytes), plan.coded ? ", before coding" : "")}};
    if (plan.device_bytes != 0) lines.emplace_back("GPU memory", format_bytes(plan.device_bytes));
    return key_values(lines);
}

}  // namespace rudder::cli
