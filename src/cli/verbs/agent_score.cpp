// rudder agent score LOG...
#include <filesystem>

#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "steer/log/score.hpp"
#include "train/summary.hpp"

namespace rudder::cli {

namespace {

namespace fs = std::filesystem;

struct Scored {
    std::string log;
    steer::LogScore score;
    std::string missing;  ///< why there is no cost
};

std::string share_text(const steer::ShareScore& score) {
    if (score.all == 0) return "n/a";
    return fmt::format("{:.1f} % ({:.1f} to {:.1f} %), {} of {}", score.share() * 100,
                       score.low() * 100, score.high() * 100, format_count(score.right),
                       format_count(score.all));
}

std::string ratio_text(std::uint64_t rows, std::uint64_t other) {
    if (other == 0) return "n/a";
    return fmt::format("{:.3f}", static_cast<double>(rows) / static_cast<double>(other));
}

void add_pass(const steer::PassScore& pass, KeyValues& lines) {
    if (pass.rule == steer::PassRule::none) {
        lines.emplace_back("Pass@1", "n/a: the agent makes no forecasts and no replace decisions");
        return;
    }
    lines.emplace_back("Pass@1, hit rate", share_text(pass.hit_rate));
    if (pass.rule == steer::PassRule::forecast) {
        lines.emplace_back("Pass@1, communication", share_text(pass.rows));
        lines.emplace_back("", "as published: own forecast against the next observation");
    } else {
        lines.emplace_back("",
                           "as published for classifiers: yes must be followed by a rise of the "
                           "hit rate, no by no fall");
        lines.emplace_back("label accuracy", share_text(pass.label));
        lines.emplace_back("",
                           "as published: yes where the hit rate then rose by more points than "
                           "fetching by seconds (in replays, rows)");
    }
}

void add_counterfactual(const steer::CounterfactualScore& other, KeyValues& lines) {
    const steer::ShareScore better = other.better();
    if (better.all != 0 || other.judged == 0)
        lines.emplace_back("better than otherwise", share_text(better));
    if (other.no_effect != 0) {
        lines.emplace_back("no effect",
                           fmt::format("{} of {} judged decisions: as many rows as otherwise",
                                       format_count(other.no_effect), format_count(other.judged)));
    }
    if (other.judged == 0) {
        lines.emplace_back("",
                           "no decision was judged: each kept what there was, or the run was "
                           "too short");
        return;
    }
    if (other.horizon != 0) {
        lines.emplace_back(
            "", fmt::format("rows of a copy that took it, and of one that did not, over {} steps "
                            "in which both follow the built-in rule",
                            other.horizon));
    }
    if (other.set_horizon != 0) {
        lines.emplace_back("", fmt::format("knobs: rows of two copies, one with the change, over "
                                           "{} steps",
                                           other.set_horizon));
    }
}

std::string score_text(const Scored& scored) {
    const steer::LogScore& score = scored.score;
    KeyValues lines{{"log", scored.log}, {"agent", score.agent}};
    std::string decisions =
        fmt::format("{}, {} applied", format_count(score.decisions), format_count(score.applied));
    for (const auto& [name, number] :
         {std::pair{"kept", score.kept}, std::pair{"late", score.late},
          std::pair{"invalid", score.invalid}, std::pair{"refused", score.refused},
          std::pair{"undone", score.undone}}) {
        if (number != 0) decisions += fmt::format(", {} {}", format_count(number), name);
    }
    lines.emplace_back("decisions", decisions);
    add_pass(score.pass, lines);
    add_counterfactual(score.counterfactual, lines);
    if (!score.cost) {
        lines.emplace_back("cost", scored.missing);
        return key_values(lines);
    }
    const steer::CostScore& cost = *score.cost;
    lines.emplace_back("rows", format_count(cost.rows));
    lines.emplace_back(
        "of the built-in rule",
        fmt::format("{:.3f} ({}: {}; excess {:+.1f} %{})", 1 + cost.excess(), cost.built_in_rule,
                    format_count(cost.built_in), cost.excess() * 100,
                    cost.counted_excess ? ", as the run counted it" : ""));
    lines.emplace_back(
        "of the best of the class",
        fmt::format("{} ({}: {}; regret {:+.1f} %)", ratio_text(cost.rows, cost.best),
                    cost.best_rule, format_count(cost.best), cost.regret() * 100));
    lines.emplace_back("of window:16", fmt::format("{} ({})", ratio_text(cost.rows, cost.window),
                                                   format_count(cost.window)));
    lines.emplace_back("of the floor", fmt::format("{} ({})", ratio_text(cost.rows, cost.floor),
                                                   format_count(cost.floor)));
    return key_values(lines);
}

/// What the run itself counted takes the place of what its log comes to when it is replayed: live,
/// some changes came in the midst of steps that were under way. One effect has one figure.
void take_count_of_run(const fs::path& file, steer::LogScore& score) {
    std::error_code code;
    if (!score.cost || !fs::exists(file, code)) return;
    try {
        const train::Summary run = train::summary_from_json(read_json(file), file.string());
        if (!run.agent.excess || run.agent.name != score.agent) return;
        score.cost->rows = run.rows.rows.fetched();
        score.cost->counted_excess = run.agent.excess;
    } catch (const Error&) {
        // Of another version: the log alone counts.
    }
}

class AgentScoreVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "agent score"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Score the decisions of a run: forecasts, alternatives, cost";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder agent score run"; }
    void define(CLI::App& app) override {
        app.add_option("LOG", logs_, "Run folders, or decision logs")->required();
        app.add_option("--trace", trace_, "Trace of the run (default: trace/ next to the log)");
    }
    int run(const Context& context) override;

private:
    [[nodiscard]] Scored score(const fs::path& log) const;

    std::vector<std::string> logs_;
    std::string trace_;
};

Scored AgentScoreVerb::score(const fs::path& log) const {
    const auto records = steer::read_decisions(log);
    Scored scored{log.string(), steer::score_log(records), {}};
    const fs::path folder = fs::is_directory(log) ? log : log.parent_path();
    const fs::path trace = trace_.empty() ? folder / "trace" : fs::path(trace_);
    if (records.empty()) {
        scored.missing = "n/a: no decisions";
    } else if (trace_.empty() && !fs::exists(trace)) {
        scored.missing = fmt::format(
            "n/a: trace missing in {}; train with --trace, or give --trace", trace.string());
    } else {
        scored.score.cost = steer::score_cost(records, buffer::read_trace(trace));
        take_count_of_run(folder / "summary.json", scored.score);
    }
    return scored;
}

int AgentScoreVerb::run(const Context& context) {
    if (!trace_.empty() && logs_.size() > 1) {
        throw usage_error("one trace for several logs", "--trace",
                          "give one log, or keep each trace next to its log");
    }
    Json list = Json::array();
    std::string text;
    for (const std::string& log : logs_) {
        const Scored scored = score(log);
        Json json{{"log", scored.log}};
        json.update(to_json(scored.score));
        if (!scored.missing.empty()) json["missing"] = scored.missing;
        list.push_back(std::move(json));
        text += (text.empty() ? "" : "\n") + score_text(scored);
    }
    context.json ? print_json(list) : print_text(text);
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_agent_score_verb() {
    return std::make_unique<AgentScoreVerb>();
}

}  // namespace rudder::cli
