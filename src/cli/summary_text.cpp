#include "summary_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/text.hpp"

#include "describe.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace rudder::cli {

namespace {

double number(const Json& json) {
    return json.is_number() ? json.get<double>() : 0;
}

std::string share_text(const Json& json) {
    return json.is_null() ? "-" : fmt::format("{:.2f} %", number(json) * 100);
}

std::string percent(double part, double whole) {
    return fmt::format("{:.0f} %", whole > 0 ? part / whole * 100 : 0.0);
}

/// A summary with shorthands for its parts.
struct Summary {
    const Json& json;

    [[nodiscard]] std::uint64_t count(const char* key) const { return json.at(key); }
    [[nodiscard]] std::string word(const char* key) const { return json.at(key); }
    [[nodiscard]] double seconds(const char* key) const {
        return number(json.at("seconds").at(key));
    }
    [[nodiscard]] std::uint64_t rows(const char* key) const { return json.at("rows").at(key); }
    [[nodiscard]] std::uint64_t bytes(const char* key) const { return json.at("bytes").at(key); }
    [[nodiscard]] std::uint64_t fetched() const {
        return rows("demand") + rows("replacement") + rows("ahead");
    }
};

void add_answer(const Summary& s, KeyValues& lines) {
    const Json& best = s.json.at("best_epoch");
    const Json& of = s.json.at("accuracy");
    if (best.is_null() || of.at("valid").is_null()) return;
    lines.emplace_back(
        "accuracy",
        fmt::format("test {}, valid {}, train {} (epoch {} of {}, best by validation)",
                    share_text(of.at("test")), share_text(of.at("valid")),
                    share_text(of.at("train")), best.get<std::uint64_t>(), s.count("epochs")));
}

void add_time(const Summary& s, KeyValues& lines) {
    const double step = s.seconds("step");
    const double rest =
        std::max(0.0, step - s.seconds("compute") - s.seconds("stall") - s.seconds("reduce"));
    lines.emplace_back(
        "time",
        fmt::format("{:.1f} s for {} steps, {:.2f} s per epoch, {:.1f} s CPU", s.seconds("total"),
                    format_count(s.count("steps")), s.seconds("epoch"), s.seconds("cpu")));
    lines.emplace_back(
        "of each step",
        fmt::format("compute {}, stall {}, gradients {}, rest {}",
                    percent(s.seconds("compute"), step), percent(s.seconds("stall"), step),
                    percent(s.seconds("reduce"), step), percent(rest, step)));
    lines.emplace_back("beside it",
                       fmt::format("sampling {:.1f} s, fetching {:.1f} s, over {} ranks",
                                   s.seconds("sample"), s.seconds("fetch"), s.count("ranks")));
}

/// Against a run that fetches every row of another host that a step needs.
std::string saved_text(const Summary& s) {
    const auto without = static_cast<double>(s.rows("hit") + s.rows("demand"));
    const double saved = without - static_cast<double>(s.fetched());
    const auto bytes = static_cast<double>(s.count("row_bytes")) * std::abs(saved);
    std::string text =
        fmt::format("{}{} rows, {}: {} of what no buffer would fetch", saved < 0 ? "-" : "",
                    format_count(static_cast<std::uint64_t>(std::abs(saved))),
                    format_bytes(static_cast<std::uint64_t>(bytes)), percent(saved, without));
    const Json& floor = s.json.at("rows").at("floor");
    if (floor.is_number() && number(floor) > 0) {
        text += fmt::format("; fetched {:.3f} times the fewest possible",
                            static_cast<double>(s.fetched()) / number(floor));
    }
    return text;
}

void add_rows(const Summary& s, KeyValues& lines) {
    const auto needed = static_cast<double>(s.rows("needed"));
    const auto of = [&](const char* key) {
        return percent(static_cast<double>(s.rows(key)), needed);
    };
    lines.emplace_back(
        "rows", fmt::format("{} needed: {} own, {} in the buffer, {} fetched on demand",
                            format_count(s.rows("needed")), of("local"), of("hit"), of("demand")));
    if (s.count("buffer_rows") != 0 && s.rows("hit") + s.rows("demand") != 0)
        lines.emplace_back("buffer saved", saved_text(s));
    lines.emplace_back(
        "traffic",
        fmt::format("{}: {} of features, {} of gradients", format_bytes(s.bytes("received_total")),
                    format_bytes(s.bytes("features")), format_bytes(s.bytes("gradients"))));
}

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
        text += std::abs(more) < 0.0005
                    ? ", as many rows as the built-in rule"
                    : fmt::format(", {:.1f} % {} rows than the built-in rule", std::abs(more) * 100,
                                  more > 0 ? "more" : "fewer");
    }
    if (const Json& share = agent.at("cpu_share"); !share.is_null())
        text += fmt::format(", {:.1f} % of the CPU time", share.get<double>() * 100);
    if (const auto openings = count("breaker_openings"); openings != 0)
        text += fmt::format(", given up {} times", openings);
    return text;
}

void add_run(const Summary& s, KeyValues& lines) {
    const Json& loss = s.json.at("loss");
    lines.emplace_back(
        "loss", fmt::format("{:.4f} at first, {:.4f} at last, digest {}", number(loss.at("first")),
                            number(loss.at("last")), loss.at("digest").get<std::string>()));
    lines.emplace_back(
        "run", fmt::format("policy {}, topology {}, precision {}, {} steps ahead", s.word("policy"),
                           s.word("topology"), s.word("precision"), s.count("steps_ahead")));
    if (const Json& agent = s.json.at("agent"); agent.at("name") != "never")
        lines.emplace_back("agent", agent_text(agent));
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
    for (const char* key : {"beside it", "traffic", "run", "loss", "rows"}) {
        if (broken(lines, columns).size() <= most_lines) break;
        std::erase_if(lines, [&](const auto& line) { return line.first == key; });
    }
    return broken(lines, columns);
}

}  // namespace

std::string summary_text(const Json& summary, RunSigns signs, const std::string& folder,
                         std::size_t columns) {
    const Summary s{summary};
    KeyValues lines;
    add_answer(s, lines);
    add_time(s, lines);
    add_rows(s, lines);
    add_run(s, lines);
    read_signs(summary, signs);
    signs.kept = !folder.empty();
    for (const std::string& advice : advice_for(signs))
        lines.emplace_back("to try next", advice);
    if (!folder.empty()) lines.emplace_back("to look at", "rudder report " + folder);
    if (columns != 0) lines = fitted(std::move(lines), columns);
    for (std::size_t i = lines.size() - 1; i > 0; --i)
        if (lines[i].first == lines[i - 1].first) lines[i].first.clear();
    return key_values(lines);
}

std::string plan_text(const train::TrainPlan& plan, int ranks) {
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
