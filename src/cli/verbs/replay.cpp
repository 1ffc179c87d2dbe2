// rudder replay TRACE
#include "rudder/buffer/replay.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/llm_models.hpp"
#include "cli/table.hpp"
#include "cli/train_settings.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/staging.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "rudder/train/options.hpp"
#include "steer/regret/rivals.hpp"
#include "steer/steered_replay.hpp"

namespace rudder::cli {

namespace {

/// What an agent made of a case.
struct Steered {
    steer::AgentSpec agent;
    steer::HelmTotals totals;
    std::uint64_t best = 0;      ///< rows of the best of the declared class in hindsight
    std::uint64_t built_in = 0;  ///< of the built-in rule
};

/// A case with what it gave, and the floor of its size.
struct ReplayLine {
    buffer::ReplayCase one;
    buffer::ReplayResult result;
    std::uint64_t floor = 0;
    std::unique_ptr<Steered> steered{};  ///< none: without an agent

    /// NaN: not known.
    [[nodiscard]] double regret() const {
        if (!steered || steered->best == 0) return std::nan("");
        return steer::rows_beyond(result.rows.fetched(), steered->best);
    }
    [[nodiscard]] double excess() const {
        if (!steered || steered->built_in == 0) return std::nan("");
        return steer::rows_beyond(result.rows.fetched(), steered->built_in);
    }
};

struct ReplayForm {
    std::optional<std::uint64_t> window;
    std::string log;
    bool force = false;
    std::string data;
    bool list = false;
};

std::span<const Setting<ReplayForm>> replay_table() {
    using O = ReplayForm;
    static const std::array table{
        setting<O, &O::window>("window", "Look-ahead of policy window in steps, as in window:16")
            .limit(1, 1e6),
        setting<O, &O::log>("log", "File for the agents' decisions, as decisions.jsonl"),
        setting<O, &O::force>("force", "Accept decisions of another run; replace --log"),
        setting<O, &O::data>("data", "Partition that the trace must have been recorded on")
            .offering([] { return std::vector{any_folder}; }),
        setting<O, &O::list>("policies", "List the policies with their parameters, and exit"),
    };
    return table;
}

class ReplayVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "replay"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Run policies and agents over a recorded trace, on ids alone";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder replay trace.npz --buffer 0.05 --buffer 0.25 --policy lru --policy "
               "window:16";
    }

    [[nodiscard]] std::string notes() const override { return policy_notes(); }
    void define(CLI::App& app) override {
        app.add_option("TRACE", trace_, "Run folder, its trace/, or an NPZ trace");
        app.add_option("--policy", policies_,
                       "NAME[:VALUE]{,KEY:VALUE}; may be repeated\n(default: some of each kind)")
            ->allow_extra_args(false);
        constexpr double most_rows = 4294967295;
        limit(app.add_option("--buffer", fractions_,
                             "Buffer size as a fraction of the halo; may be repeated (default: "
                             "0.25)"),
              "buffer", SettingKind::real, {0, 1e6})
            .allow_extra_args(false);
        limit(
            app.add_option("--buffer-rows", rows_, "Buffer size in rows per host; may be repeated"),
            "buffer-rows", SettingKind::integer, {0, most_rows})
            .allow_extra_args(false);
        const auto table = replay_table();
        bind_options(app, table.first(1), form_);
        app.add_option("--agent", agents_,
                       "Agent to pair with every policy; may be repeated; see agent list")
            ->allow_extra_args(false);
        bind_options(app, table.subspan(1), form_);
        app.add_option("--llm-model", models_,
                       "Model of agent llm; may be repeated (default: the server's first)")
            ->allow_extra_args(false)
            ->group(std::string(further_options));
        bind_train(app, {train::OptionGroup::guard, train::OptionGroup::llm}, train_);
        offer_specs(app);
    }

    int run(const Context& context) override;

private:
    [[nodiscard]] std::vector<buffer::PolicySpec> specs() const;
    [[nodiscard]] std::vector<buffer::BufferSize> sizes() const;
    [[nodiscard]] std::vector<steer::AgentSpec> agents() const;
    void steer(const buffer::Trace& trace, std::vector<ReplayLine>& lines) const;

    std::string trace_;
    std::vector<std::string> policies_;
    std::vector<double> fractions_;
    std::vector<std::uint64_t> rows_;
    std::vector<std::string> agents_;
    ReplayForm form_;
    train::TrainOptions train_;        ///< how agent llm is reached
    std::vector<std::string> models_;  ///< of agent llm
};

std::vector<buffer::PolicySpec> ReplayVerb::specs() const {
    std::vector<std::string> texts = policies_;
    if (texts.empty() && !agents_.empty()) {
        // One that every agent named can do something about.
        const auto all = agents();
        const bool decide = std::ranges::any_of(all, &steer::AgentSpec::decides);
        texts = {decide ? "scored" : "window"};
    }
    if (texts.empty()) {
        texts = {"none",     "static-degree",   "lru",    "scored-faithful,every:4",
                 "periodic", "scored,every:16", "window", "optimal"};
    }
    std::vector<buffer::PolicySpec> specs;
    for (const std::string& text : texts) {
        buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
        if (form_.window) buffer::apply_window(spec, *form_.window);
        specs.push_back(std::move(spec));
    }
    return specs;
}

std::vector<buffer::BufferSize> ReplayVerb::sizes() const {
    std::vector<buffer::BufferSize> sizes;
    for (const double fraction : fractions_) {
        if (!std::isfinite(fraction) || fraction < 0 || fraction > 1e6) {
            throw usage_error(fmt::format("invalid buffer fraction: {}", fraction), "--buffer",
                              "give a number from 0 on, such as 0.25");
        }
        sizes.push_back({fraction, 0});
    }
    for (const std::uint64_t rows : rows_)
        sizes.emplace_back().rows = rows;
    if (sizes.empty()) sizes.push_back({0.25, 0});
    return sizes;
}

std::vector<steer::AgentSpec> ReplayVerb::agents() const {
    std::vector<steer::AgentSpec> all;
    for (const std::string& text : agents_)
        all.push_back(steer::AgentSpec::parse(text));
    return all;
}

std::uint64_t halo_of(const buffer::Trace& trace) {
    std::uint64_t halo = 0;
    for (const auto& host : trace)
        halo += host->halo();
    return halo;
}

/// Runs all cases, and the floor of each size beside them.
std::vector<ReplayLine> run_cases(const buffer::Trace& trace,
                                  std::span<const buffer::PolicySpec> specs,
                                  std::span<const buffer::BufferSize> sizes) {
    const buffer::PolicySpec floor = buffer::PolicySpec::parse("optimal");
    std::vector<buffer::ReplayCase> cases;
    for (const buffer::BufferSize& size : sizes) {
        cases.push_back({floor, size});
        for (const buffer::PolicySpec& spec : specs)
            cases.push_back({spec, size});
    }
    const auto results = buffer::replay(trace, cases);
    std::vector<ReplayLine> lines;
    std::uint64_t of_size = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (i % (specs.size() + 1) == 0) {
            of_size = results[i].rows.fetched();
        } else {
            lines.push_back({cases[i], results[i], of_size});
        }
    }
    return lines;
}

/// The best of the declared class in hindsight, by size; found once for each.
class BestOfClass {
public:
    explicit BestOfClass(const buffer::Trace& trace) : trace_(trace) {}

    std::uint64_t rows(const buffer::BufferSize& size) {
        std::vector<std::uint64_t> capacity;
        for (const auto& host : trace_)
            capacity.push_back(size.of(host->halo()));
        const auto [at, missing] = known_.try_emplace(capacity, 0);
        if (missing) at->second = steer::rival_rows(trace_, capacity).best_rows();
        return at->second;
    }

private:
    const buffer::Trace& trace_;
    std::map<std::vector<std::uint64_t>, std::uint64_t> known_;  ///< by capacity of each host
};

std::uint64_t built_in_rows(const buffer::Trace& trace, const buffer::ReplayCase& one) {
    const std::array<buffer::ReplayCase, 1> built_in{
        {{buffer::built_in_rule(one.policy), one.size}}};
    return buffer::replay(trace, built_in).front().rows.fetched();
}

/// Puts the runs of all agents in the place of each line.
void ReplayVerb::steer(const buffer::Trace& trace, std::vector<ReplayLine>& lines) const {
    const auto all = agents();
    std::vector<ReplayLine> steered;
    std::string log;
    steer::SteeredOptions options;
    options.refit = true;
    options.seed = trace.front()->header().seed;
    options.run = steer::run_of(trace);
    options.llm = train_.steer.llm;
    options.guard = train_.steer.guard;
    options.force = form_.force;
    BestOfClass best(trace);
    for (const ReplayLine& line : lines) {
        const std::uint64_t built_in = built_in_rows(trace, line.one);
        for (const steer::AgentSpec& agent : all) {
            ReplayLine made{
                line.one, line.result, line.floor,
                std::make_unique<Steered>(Steered{agent, {}, best.rows(line.one.size), built_in})};
            const bool acts =
                agent.name() != "never" && train::agent_advice(agent, line.one.policy).empty();
            if (acts) {
                steer::SteeredResult result =
                    steer::steered_replay(trace, {line.one.policy, line.one.size, agent}, options);
                made.result.rows = result.rows;
                made.steered->totals = result.agent;
                for (const steer::DecisionRecord& record : result.decisions)
                    log += form_.log.empty() ? "" : steer::log_line(record) + "\n";
            }
            steered.push_back(std::move(made));
        }
    }
    lines = std::move(steered);
    if (form_.log.empty()) return;
    Staging staging = Staging::file(form_.log, form_.force ? Existing::replace : Existing::refuse);
    write_text(staging.path(), log);
    staging.commit();
}

double fraction_of(const ReplayLine& line, std::uint64_t halo) {
    if (line.one.size.fraction) return *line.one.size.fraction;
    return halo == 0 ? 0 : static_cast<double>(line.result.capacity) / static_cast<double>(halo);
}

Json share_json(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return nullptr;
    return static_cast<double>(part) / static_cast<double>(whole);
}

Json lines_json(std::span<const ReplayLine> lines, std::uint64_t halo) {
    Json list = Json::array();
    for (const ReplayLine& line : lines) {
        const Rows& rows = line.result.rows;
        list.push_back({{"policy", line.one.policy.text()},
                        {"fraction", fraction_of(line, halo)},
                        {"capacity", line.result.capacity},
                        {"demand", rows.demand},
                        {"replacement", rows.replacement},
                        {"ahead", rows.ahead},
                        {"hits", rows.hit}});
        if (!line.steered) continue;
        const steer::HelmTotals& totals = line.steered->totals;
        Json& json = list.back();
        json["agent"] = line.steered->agent.text();
        json["decisions"] = totals.decisions;
        json["correct"] = share_json(totals.correct, totals.answered());
        json["no_effect"] = totals.no_effect;
        json["better"] = share_json(totals.better(), totals.effective());
        json["regret"] = nullptr;
        if (!std::isnan(line.regret())) json["regret"] = line.regret();
        json["excess"] = nullptr;
        if (!std::isnan(line.excess())) json["excess"] = line.excess();
    }
    return list;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return "-";
    return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string beyond_text(double share) {
    return std::isnan(share) ? "-" : fmt::format("{:+.1f} %", share * 100);
}

std::string lines_text(std::span<const ReplayLine> lines, std::uint64_t halo) {
    const bool steered = !lines.empty() && lines.front().steered != nullptr;
    std::vector<std::string> header{"buffer",      "rows",  "policy", "fetched",  "demand",
                                    "replacement", "ahead", "hits",   "hit rate", "of optimal"};
    if (steered)
        header.insert(header.end(), {"decisions", "no effect", "better", "excess", "regret"});
    Table table(header);
    for (const ReplayLine& line : lines) {
        const Rows& rows = line.result.rows;
        std::string name = line.one.policy.text();
        if (steered) name += " + " + line.steered->agent.text();
        std::vector<std::string> cells{fmt::format("{:.4g}", fraction_of(line, halo)),
                                       format_count(line.result.capacity),
                                       name,
                                       format_count(rows.fetched()),
                                       format_count(rows.demand),
                                       format_count(rows.replacement),
                                       format_count(rows.ahead),
                                       format_count(rows.hit),
                                       share_text(rows.hit, rows.needed),
                                       share_text(rows.fetched(), line.floor)};
        if (steered) {
            const steer::HelmTotals& totals = line.steered->totals;
            cells.insert(cells.end(),
                         {format_count(totals.decisions), format_count(totals.no_effect),
                          share_text(totals.better(), totals.effective()),
                          beyond_text(line.excess()), beyond_text(line.regret())});
        }
        table.add(std::move(cells));
    }
    return table.text();
}

std::string policies_text() {
    KeyValues lines;
    for (const buffer::PolicyInfo* info : buffer::all_policies()) {
        lines.emplace_back(std::string(info->name),
                           fmt::format("{} [{}]", info->sentence, info->paper));
        add_parameters(lines, info->parameters);
    }
    return key_values(lines);
}

Json policies_json() {
    Json list = Json::array();
    for (const buffer::PolicyInfo* info : buffer::all_policies()) {
        Json parameters = Json::array();
        for (const SpecParameter& p : info->parameters) {
            parameters.push_back({{"name", p.name}, {"help", p.help}});
            if (p.kind == ParameterKind::flag) continue;
            parameters.back()["minimum"] = p.minimum;
            parameters.back()["maximum"] = p.maximum;
            if (p.fallback) parameters.back()["default"] = *p.fallback;
        }
        list.push_back({{"name", info->name},
                        {"sentence", info->sentence},
                        {"paper", info->paper},
                        {"parameters", parameters}});
    }
    return list;
}

int ReplayVerb::run(const Context& context) {
    agents_ = with_models(agents_, models_);
    if (form_.list) {
        context.json ? context.answer(policies_json()) : print_text(policies_text());
        return 0;
    }
    if (trace_.empty()) {
        throw usage_error("no trace is given", "TRACE",
                          "give a run folder, its trace/ or an NPZ trace");
    }
    const auto asked = specs();
    const auto of_size = sizes();
    for (const steer::AgentSpec& agent : agents()) {
        for (const buffer::PolicySpec& policy : asked) {
            steer::check_agent(agent, policy);
            if (const auto advice = train::agent_advice(agent, policy); !advice.empty())
                log::warning(advice);
        }
    }
    if (!form_.log.empty() && agents_.empty()) {
        throw usage_error("--log requires --agent", "--log", "name an agent with --agent");
    }
    const buffer::Trace trace = buffer::read_trace(trace_);
    if (!form_.data.empty()) buffer::expect_graph(trace, form_.data);
    auto lines = run_cases(trace, asked, of_size);
    if (!agents_.empty()) steer(trace, lines);
    if (context.json) {
        context.answer(lines_json(lines, halo_of(trace)));
    } else {
        print_text(lines_text(lines, halo_of(trace)));
    }
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_replay_verb() {
    return std::make_unique<ReplayVerb>();
}

}  // namespace rudder::cli
