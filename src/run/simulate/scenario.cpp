#include "scenario.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/setting.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "train/option_table.hpp"
#include "train/simulate/simulation.hpp"

namespace rudder::run {

namespace {

constexpr std::uint64_t most_bytes = 1 << 20;
constexpr double most_simulated_ranks = 1024;
constexpr std::size_t most_jobs = 10000;
constexpr std::string_view train_prefix = "train.";
constexpr std::string_view sweep_prefix = "sweep.";

std::span<const Setting<SimulatedJob>> job_settings() {
    using J = SimulatedJob;
    static const std::array table{
        setting<J, &J::title>("title", "What it is"),
        setting<J, &J::ranks>("ranks", "Ranks, one part of the graph each")
            .limit(1, most_simulated_ranks),
        setting<J, &J::ranks_per_host>("ranks-per-host", "Ranks that share a host")
            .limit(1, most_simulated_ranks),
        setting<J, &J::threads>("threads", "Threads of a rank").limit(1, 1024),
        setting<J, &J::steps>("steps", "Steps, at most (0 = all epochs)").limit(0, 1e9),
        setting<J, &J::profile>("profile", "Machine profile: built-in:NAME or FILE"),
        setting<J, &J::source>("graph.source", "like:NAME, a data set or a partition"),
        setting<J, &J::scale>("graph.scale", "Share of the published size").above(0),
        setting<J, &J::graph_seed>("graph.seed", "Seed of the graph that is made"),
        setting<J, &J::method>("graph.method", "How it is divided"),
        setting<J, &J::latency>("network.latency", "Delay of a message between hosts"),
        setting<J, &J::rate>("network.rate", "Of a host's link, each way"),
        setting<J, &J::oversubscription>("network.oversubscription",
                                         "What all links carry over what the core does")
            .limit(1, 1e6),
        setting<J, &J::incast>("network.incast", "How much longer to receive, by other sender")
            .limit(0, 1000),
        setting<J, &J::sums>("network.sums", "How gradients are summed")
            .among({"owner", "two-level"}),
    };
    return table;
}

/// A value as it stands in the file, or the values of a list.
struct GivenValue {
    std::string text;
    std::vector<std::string> items{};
    bool list = false;
    std::uint32_t line = 0;
};
using GivenValues = std::map<std::string, GivenValue, std::less<>>;

std::string at_line(const std::string& where, std::uint32_t line) {
    return line == 0 ? where : fmt::format("{}, line {}", where, line);
}

std::string scalar_text(const toml::node& node, const std::string& key, const std::string& where) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (const auto* list = node.as_array()) {
        std::string text;
        for (const toml::node& item : *list)
            text += (text.empty() ? "" : ",") + scalar_text(item, key, where);
        return text;
    }
    throw input_error(
        fmt::format("invalid value of key '{}': neither text, number nor truth value", key),
        at_line(where, node.source().begin.line), "write a value or a list of them");
}

/// Lays tables flat: "network.rate".
void lay_flat(const toml::table& table, const std::string& prefix, const std::string& where,
              GivenValues& out) {
    for (const auto& [name, node] : table) {
        const std::string key = prefix + std::string(name.str());
        if (const auto* below = node.as_table()) {
            lay_flat(*below, key + ".", where, out);
            continue;
        }
        GivenValue value{.text = scalar_text(node, key, where), .line = node.source().begin.line};
        if (const auto* list = node.as_array()) {
            value.list = true;
            for (const toml::node& item : *list)
                value.items.push_back(scalar_text(item, key, where));
        }
        out.insert_or_assign(key, std::move(value));
    }
}

GivenValues read_toml(std::string_view text, const std::string& where) {
    GivenValues values;
    try {
        lay_flat(toml::parse(text, where), "", where, values);
    } catch (const toml::parse_error& error) {
        throw input_error(fmt::format("not valid TOML: {}", error.description()),
                          fmt::format("{}, line {}, column {}", where, error.source().begin.line,
                                      error.source().begin.column),
                          "correct the line");
    }
    return values;
}

/// What [full] says takes the place of what stands outside of it, or is left out.
void take_full(GivenValues& values, bool full) {
    constexpr std::string_view prefix = "full.";
    GivenValues inside;
    for (auto at = values.lower_bound(prefix); at != values.end() && at->first.starts_with(prefix);
         at = values.erase(at)) {
        inside.insert_or_assign(at->first.substr(prefix.size()), at->second);
    }
    if (!full) return;
    for (auto& [key, value] : inside) {
        // What is swept has no value of its own, and the other way round.
        if (key.starts_with(sweep_prefix)) values.erase(key.substr(sweep_prefix.size()));
        values.insert_or_assign(key, std::move(value));
    }
}

/// As the command line would have it: unknown keys with the nearest that are known.
std::string known_near(std::string_view key) {
    std::vector<std::string> names;
    for (const auto& each : job_settings())
        names.emplace_back(each.name);
    for (const auto& each : train::all_options())
        names.push_back(fmt::format("{}{}", train_prefix, each.name));
    const std::vector<std::string_view> known(names.begin(), names.end());
    const auto close = nearest(key, known);
    return close ? fmt::format("did you mean '{}'?", *close) : "see docs/scale.md";
}

/// A value in place; a usage Error of the setting becomes one about the file.
void apply(SimulatedJob& job, const std::string& key, const GivenValue& value,
           const std::string& where) {
    const std::string place = at_line(where, value.line);
    const auto put = [&](const auto& table, auto& owner, std::string_view name) {
        const auto found =
            std::ranges::find_if(table, [&](const auto& each) { return each.name == name; });
        if (found == table.end())
            throw input_error(fmt::format("unknown key '{}'", key), place, known_near(key));
        try {
            found->put(owner, parse_setting(*found, value.text));
        } catch (const Error& error) {
            throw input_error(error.problem(), place, error.remedy());
        }
    };
    if (!key.starts_with(train_prefix)) return put(job_settings(), job, key);
    const std::string name = key.substr(train_prefix.size());
    // A policy with an agent of its own, as `compare` takes them.
    if (const std::size_t plus = value.text.find('+');
        name == "policy" && plus != std::string::npos) {
        apply(job, key, {.text = value.text.substr(0, plus), .line = value.line}, where);
        return apply(job, "train.agent", {.text = value.text.substr(plus + 1), .line = value.line},
                     where);
    }
    put(train::all_options(), job.train, name);
    job.batch_given = job.batch_given || name == "batch";
    job.fanout_given = job.fanout_given || name == "fanout";
    job.layers_given = job.layers_given || name == "layers";
}

void settle(SimulatedJob& job) {
    train::TrainOptions& o = job.train;
    if (!job.fanout_given) {
        o.fanout = train::default_fanout(o.layers);
    } else if (!job.layers_given) {
        o.layers = static_cast<int>(o.fanout.size());
    }
    o.sampler = train::sampler_of(o);
    o.steer.link = true;
}

/// Keys of the sweep, in their order, with all their values.
std::vector<std::pair<std::string, GivenValue>> take_sweep(GivenValues& values) {
    std::vector<std::pair<std::string, GivenValue>> sweep;
    for (auto at = values.lower_bound(sweep_prefix);
         at != values.end() && at->first.starts_with(sweep_prefix); at = values.erase(at)) {
        sweep.emplace_back(at->first.substr(sweep_prefix.size()), at->second);
    }
    std::ranges::stable_sort(sweep, {}, [](const auto& each) { return each.second.line; });
    return sweep;
}

/// Each of the jobs with each of a key's values.
std::vector<SweptJob> swept_over(const std::vector<SweptJob>& jobs, const std::string& key,
                                 const GivenValue& value, const std::string& where) {
    if (!value.list || value.items.empty()) {
        throw input_error(fmt::format("invalid sweep of '{}': no list of values", key),
                          at_line(where, value.line), "write a list, such as [1, 2]");
    }
    const std::size_t count = jobs.size() * value.items.size();
    if (count > most_jobs) {
        throw input_error(fmt::format("the sweep has {} runs", format_count(count)),
                          at_line(where, value.line),
                          fmt::format("sweep at most {} at a time", most_jobs));
    }
    std::vector<SweptJob> all;
    for (const SweptJob& one : jobs) {
        for (const std::string& item : value.items) {
            SweptJob next = one;
            next.at.emplace_back(key, item);
            apply(next.job, key, {.text = item, .line = value.line}, where);
            all.push_back(std::move(next));
        }
    }
    return all;
}

void check_job(const Scenario& scenario, const SimulatedJob& job) {
    if (job.source.empty()) {
        throw scenario.fault("graph.source", "no graph is given",
                             "give graph.source: like:NAME, or the folder of a partition");
    }
    if (job.ranks == 0)
        throw scenario.fault("ranks", "the number of ranks is not given", "give ranks = N");
    try {
        train::check_options(job.train);
        train::check_simulated(job.train);
    } catch (const Error& error) {
        throw scenario.fault(std::string(train_prefix) + error.where(), error.problem(),
                             error.remedy());
    }
}

}  // namespace

std::string SweptJob::name() const {
    std::string text;
    for (const auto& [key, value] : at) {
        const std::size_t dot = key.rfind('.');
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                            dot == std::string::npos ? key : key.substr(dot + 1), value);
    }
    return text;
}

std::string Scenario::place(std::string_view key) const {
    const auto found = lines_.find(key);
    return at_line(where_, found == lines_.end() ? 0 : found->second);
}

Error Scenario::fault(std::string_view key, const std::string& problem,
                      const std::string& remedy) const {
    return input_error(problem, place(key), remedy);
}

Scenario Scenario::read(const std::filesystem::path& file, bool full,
                        std::span<const std::string> set) {
    return parse(read_text(file, most_bytes), file.string(), full, set);
}

Scenario Scenario::parse(std::string_view text, const std::string& where, bool full,
                         std::span<const std::string> set) {
    Scenario scenario;
    scenario.where_ = where;
    GivenValues values = read_toml(text, where);
    take_full(values, full);
    for (const std::string& pair : set) {
        const std::size_t equals = pair.find('=');
        if (equals == std::string::npos || equals == 0) {
            throw usage_error(fmt::format("invalid set: '{}'", pair), "--set",
                              "give KEY=VALUE, such as graph.scale=0.01");
        }
        const std::string key = pair.substr(0, equals);
        values.erase(std::string(sweep_prefix) + key);
        values.insert_or_assign(key, GivenValue{.text = pair.substr(equals + 1), .line = 0});
    }
    const auto sweep = take_sweep(values);
    SimulatedJob base;
    base.train.steer.agent = "never";
    for (const auto& [key, value] : values) {
        scenario.lines_.insert_or_assign(key, value.line);
        apply(base, key, value, where);
    }
    scenario.jobs_.push_back({{}, base});
    for (const auto& [key, value] : sweep) {
        scenario.lines_.insert_or_assign(key, value.line);
        scenario.swept_.push_back(key);
        scenario.jobs_ = swept_over(scenario.jobs_, key, value, where);
    }
    scenario.title_ = base.title;
    for (SweptJob& one : scenario.jobs_) {
        settle(one.job);
        check_job(scenario, one.job);
    }
    return scenario;
}

namespace {

std::string toml_value(SettingKind kind, const std::string& text) {
    const bool plain =
        kind == SettingKind::flag || kind == SettingKind::integer || kind == SettingKind::bytes;
    if (plain) return text;
    if (kind == SettingKind::list) return "[" + text + "]";
    if (kind == SettingKind::real) {
        return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    std::ostringstream out;
    out << toml::value<std::string>(text);
    return out.str();
}

/// Nothing where there is no value.
std::string toml_line(const SettingInfo& info, std::string_view name, const Json& value) {
    const bool none = value.is_null() || (value.is_string() && value.get<std::string>().empty());
    return none ? ""
                : fmt::format("{} = {}\n", name, toml_value(info.kind, setting_text(info, value)));
}

template <class Table, class Owner>
void add_values(const Table& table, const Owner& owner, std::string& text) {
    for (const auto& each : table)
        text += toml_line(each, each.name, each.value(owner));
}

}  // namespace

std::string job_config(const SimulatedJob& job) {
    std::string text = "# The resolved options; read them back with --config.\n";
    add_values(train::all_options(), job.train, text);
    for (const auto& each : job_settings()) {
        if (each.name == "ranks-per-host" || each.name == "threads")
            text += toml_line(each, each.name, each.value(job));
    }
    return text;
}

std::string job_scenario(const SimulatedJob& job) {
    std::string text;
    std::string table;
    for (const auto& each : job_settings()) {
        const std::size_t dot = each.name.find('.');
        const std::string_view name = each.name.substr(dot == std::string_view::npos ? 0 : dot + 1);
        const std::string_view in = dot == std::string_view::npos ? "" : each.name.substr(0, dot);
        if (in != table) text += fmt::format("\n[{}]\n", in);
        table = in;
        text += toml_line(each, name, each.value(job));
    }
    text += "\n[train]\n";
    add_values(train::all_options(), job.train, text);
    return text;
}

}  // namespace rudder::run
