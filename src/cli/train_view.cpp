#include "rudder/cli/train_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "rudder/cli/describe.hpp"
#include "rudder/cli/table.hpp"
#include "rudder/core/json.hpp"
#include "rudder/core/text.hpp"

namespace rudder::cli {

namespace {

constexpr auto pause = std::chrono::milliseconds(100);
constexpr std::size_t bar_width = 20;
constexpr const char* terminal_variable = "RUDDER_TERMINAL";

std::string minutes(double seconds) {
    const auto whole = static_cast<std::uint64_t>(std::max(seconds, 0.0) + 0.5);
    return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string percent(double share) {
    return fmt::format("{:.2f} %", share * 100);
}

std::string score_text(const Score& score) {
    return score.answers == 0 ? "-" : percent(score.share());
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

bool live_terminal() {
    return ::isatty(STDERR_FILENO) != 0 || std::getenv(terminal_variable) != nullptr;
}

void pass_terminal_on() {
    if (::isatty(STDERR_FILENO) != 0) ::setenv(terminal_variable, "1", 1);
}

TrainView::TrainView(bool live, bool lines) : live_(live), lines_(lines) {}

TrainView::~TrainView() {
    erase();
}

void TrainView::step_done(const StepRecord& record, std::uint64_t steps) {
    ++steps_done_;
    rows_ += record.rows.needed;
    for (const std::uint64_t bytes : record.bytes)
        bytes_ += bytes;
    seconds_ += record.seconds;
    if (!live_ || Clock::now() < next_draw_) return;
    next_draw_ = Clock::now() + pause;
    const double passed = seconds_since(start_);
    const double share = static_cast<double>(record.step + 1) / static_cast<double>(steps);
    const auto left = static_cast<double>(steps - record.step - 1);
    const auto filled = static_cast<std::size_t>(share * bar_width);
    const std::string line = fmt::format(
        "\r\x1b[Kepoch {} [{}{}] {:3.0f} %  loss {:.4f}{}  {} rows  {:.1f} MB/s  stall {:.0f} %  "
        "ETA {}",
        record.epoch + 1, std::string(filled, '='), std::string(bar_width - filled, ' '),
        share * 100, record.loss, accuracy_, format_count(rows_),
        static_cast<double>(bytes_) / 1e6 / passed,
        seconds_.step > 0 ? seconds_.stall / seconds_.step * 100 : 0.0,
        minutes(passed / static_cast<double>(steps_done_) * left));
    std::fputs(line.c_str(), stderr);
    std::fflush(stderr);
    drawn_ = true;
}

void TrainView::erase() {
    if (!drawn_) return;
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    drawn_ = false;
}

void TrainView::epoch_done(const EpochRecord& record, std::uint32_t epochs) {
    erase();
    if (record.scores.evaluated && record.scores.valid.answers != 0) {
        accuracy_ = fmt::format("  valid {}", score_text(record.scores.valid));
    }
    if (!lines_) return;
    std::string line = fmt::format("epoch {}/{}  loss {:.4f}  train {}", record.epoch + 1, epochs,
                                   record.loss, score_text(record.scores.train));
    if (record.scores.evaluated) {
        line += fmt::format("  valid {}  test {}", score_text(record.scores.valid),
                            score_text(record.scores.test));
    }
    line += fmt::format("  {:.2f} s\n", record.seconds);
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
}

namespace {

/// One line about who steered.
std::string agent_text(const Json& agent) {
    const auto count = [&](const char* key) { return agent.at(key).get<std::uint64_t>(); };
    if (count("decisions") == 0)
        return fmt::format("{}: decided nothing", agent.at("name").get<std::string>());
    std::string text =
        fmt::format("{}: {} decisions, {} applied", agent.at("name").get<std::string>(),
                    format_count(count("decisions")), format_count(count("applied")));
    for (const char* key : {"late", "invalid", "refused", "undone"}) {
        if (count(key) != 0) text += fmt::format(", {} {}", format_count(count(key)), key);
    }
    if (const Json& regret = agent.at("regret"); !regret.is_null()) {
        const double more = regret.get<double>();
        text += fmt::format(", {:.1f} % {} rows than the built-in rule", std::abs(more) * 100,
                            more > 0 ? "more" : "fewer");
    }
    if (const Json& share = agent.at("cpu_share"); !share.is_null())
        text += fmt::format(", {:.1f} % of the CPU time", share.get<double>() * 100);
    if (const auto openings = count("breaker_openings"); openings != 0)
        text += fmt::format(", given up {} times", openings);
    return text;
}

}  // namespace

std::string summary_text(const Json& summary) {
    const auto number = [](const Json& json) { return json.is_number() ? json.get<double>() : 0; };
    const auto count = [](const Json& json) { return json.get<std::uint64_t>(); };
    const auto share = [&](const Json& json) {
        return json.is_null() ? "-" : percent(number(json));
    };
    KeyValues lines;
    if (const Json& best = summary.at("best_epoch"); !best.is_null()) {
        const Json& of = summary.at("accuracy");
        lines.emplace_back("accuracy",
                           fmt::format("test {}, valid {}, train {} (best by validation: epoch {})",
                                       share(of.at("test")), share(of.at("valid")),
                                       share(of.at("train")), count(best)));
    }
    const Json& loss = summary.at("loss");
    lines.emplace_back(
        "loss", fmt::format("{:.4f} at first, {:.4f} at last, digest {}", number(loss.at("first")),
                            number(loss.at("last")), loss.at("digest").get<std::string>()));
    const Json& s = summary.at("seconds");
    const auto seconds = [&](const char* key) { return number(s.at(key)); };
    lines.emplace_back(
        "time",
        fmt::format("{:.1f} s for {} steps, {:.2f} s per epoch, {:.1f} s CPU", seconds("total"),
                    count(summary.at("steps")), seconds("epoch"), seconds("cpu")));
    const double whole = std::max(seconds("step"), 1e-9);
    const double rest =
        std::max(0.0, seconds("step") - seconds("compute") - seconds("stall") - seconds("reduce"));
    lines.emplace_back(
        "of each step",
        fmt::format("compute {:.0f} %, stall {:.0f} %, gradients {:.0f} %, rest {:.0f} %",
                    seconds("compute") / whole * 100, seconds("stall") / whole * 100,
                    seconds("reduce") / whole * 100, rest / whole * 100));
    lines.emplace_back(
        "beside it", fmt::format("sampling {:.1f} s, fetching {:.1f} s, over {} ranks",
                                 seconds("sample"), seconds("fetch"), count(summary.at("ranks"))));
    const Json& rows = summary.at("rows");
    const Json& bytes = summary.at("bytes");
    const auto row = [&](const char* key) { return count(rows.at(key)); };
    lines.emplace_back(
        "rows",
        fmt::format("{} needed: {} on their own host, {} in the buffer, {} fetched ({} of {})",
                    format_count(row("needed")), format_count(row("local")),
                    format_count(row("hit")),
                    format_count(row("demand") + row("replacement") + row("ahead")),
                    format_bytes(count(bytes.at("features"))),
                    format_bytes(count(bytes.at("received_total")))));
    const auto word = [&](const char* key) { return summary.at(key).get<std::string>(); };
    lines.emplace_back(
        "run", fmt::format("policy {}, topology {}, precision {}, {} steps ahead", word("policy"),
                           word("topology"), word("precision"), count(summary.at("steps_ahead"))));
    if (const Json& agent = summary.at("agent"); agent.at("name") != "never")
        lines.emplace_back("agent", agent_text(agent));
    return key_values(lines);
}

std::string plan_text(const TrainPlan& plan, int ranks) {
    const auto bytes = [](double value) { return format_bytes(static_cast<std::uint64_t>(value)); };
    const auto count = [](double value) { return format_count(static_cast<std::uint64_t>(value)); };
    return key_values(
        {{"ranks", fmt::format("{}", ranks)},
         {"steps per epoch", format_count(plan.steps_per_epoch)},
         {"parameters", format_count(plan.parameters)},
         {"topology", fmt::format("{}, {}", plan.topology, format_bytes(plan.topology_bytes))},
         {"features", fmt::format("{} in memory, the rest mapped", format_bytes(plan.store_bytes))},
         {"network", format_bytes(plan.network_bytes)},
         {"rows in flight", format_bytes(plan.in_flight_bytes)},
         {"buffer", format_bytes(plan.buffer_bytes)},
         {"batches ahead", format_bytes(plan.queue_bytes)},
         {"evaluation", format_bytes(plan.evaluation_bytes)},
         {"memory",
          fmt::format("{} of {} on the host that needs most", format_bytes(plan.needed_bytes()),
                      format_bytes(plan.memory_bytes))},
         {"rows per epoch", fmt::format("{}, {} of them from other hosts", count(plan.rows),
                                        count(plan.remote_rows))},
         {"traffic per epoch",
          fmt::format("{} of features, {} of gradients", bytes(plan.feature_bytes),
                      bytes(plan.gradient_bytes))}});
}

}  // namespace rudder::cli
