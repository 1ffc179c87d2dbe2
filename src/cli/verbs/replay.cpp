// rudder replay TRACE
#include "rudder/buffer/replay.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "rudder/cli/describe.hpp"
#include "rudder/cli/table.hpp"
#include "rudder/cli/verb.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/json.hpp"
#include "rudder/core/text.hpp"

namespace rudder::cli {

namespace {

class ReplayVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "replay"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Run buffer policies over a recorded trace, on ids alone";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder replay trace.npz --buffer 0.05 --buffer 0.25 --policy lru --policy "
               "window:16";
    }

    [[nodiscard]] std::string notes() const override { return policy_notes(); }
    void define(CLI::App& app) override {
        app.add_option("TRACE", trace_, "Run folder, its trace/, or an NPZ trace");
        app.add_option(
               "--policy", policies_,
               "NAME[:VALUE]{,KEY:VALUE}; may be repeated\n(if not given: some of each kind)")
            ->allow_extra_args(false);
        app.add_option("--buffer", fractions_,
                       "Size as a fraction of the halo; may be repeated\n(if not given: 0.25)")
            ->allow_extra_args(false);
        app.add_option("--buffer-rows", rows_, "Size in rows per host; may be repeated")
            ->allow_extra_args(false);
        app.add_option("--window", window_, "Steps that 'window' looks ahead; as in window:16");
        app.add_option("--data", data_, "Refuse a trace that was not recorded on this partition");
        app.add_flag("--policies", list_, "List the policies with their parameters and stop");
    }

    int run(const Context& context) override;

private:
    [[nodiscard]] std::vector<PolicySpec> specs() const;
    [[nodiscard]] std::vector<BufferSize> sizes() const;

    std::string trace_;
    std::vector<std::string> policies_;
    std::vector<double> fractions_;
    std::vector<std::uint64_t> rows_;
    std::optional<std::uint64_t> window_;
    std::string data_;
    bool list_ = false;
};

/// A case with what it gave, and the floor of its size.
struct Line {
    ReplayCase one;
    ReplayResult result;
    std::uint64_t floor = 0;
};

std::vector<PolicySpec> ReplayVerb::specs() const {
    std::vector<std::string> texts = policies_;
    if (texts.empty()) {
        texts = {"none",     "static-degree",   "lru",    "scored-faithful,every:4",
                 "periodic", "scored,every:16", "window", "optimal"};
    }
    std::vector<PolicySpec> specs;
    for (const std::string& text : texts) {
        PolicySpec spec = PolicySpec::parse(text);
        if (window_) apply_window(spec, *window_);
        specs.push_back(std::move(spec));
    }
    return specs;
}

std::vector<BufferSize> ReplayVerb::sizes() const {
    std::vector<BufferSize> sizes;
    for (const double fraction : fractions_) {
        if (!std::isfinite(fraction) || fraction < 0 || fraction > 1e6) {
            throw usage_error(fmt::format("{} is no fraction of the halo", fraction), "--buffer",
                              "give a number from 0 on, such as 0.25");
        }
        sizes.push_back({fraction, 0});
    }
    for (const std::uint64_t rows : rows_)
        sizes.push_back({std::nullopt, rows});
    if (sizes.empty()) sizes.push_back({0.25, 0});
    return sizes;
}

std::uint64_t halo_of(const Trace& trace) {
    std::uint64_t halo = 0;
    for (const auto& host : trace)
        halo += host->halo();
    return halo;
}

/// Runs all cases, and the floor of each size beside them.
std::vector<Line> run_cases(const Trace& trace, std::span<const PolicySpec> specs,
                            std::span<const BufferSize> sizes) {
    const PolicySpec floor = PolicySpec::parse("optimal");
    std::vector<ReplayCase> cases;
    for (const BufferSize& size : sizes) {
        cases.push_back({floor, size});
        for (const PolicySpec& spec : specs)
            cases.push_back({spec, size});
    }
    const auto results = replay(trace, cases);
    std::vector<Line> lines;
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

double fraction_of(const Line& line, std::uint64_t halo) {
    if (line.one.size.fraction) return *line.one.size.fraction;
    return halo == 0 ? 0 : static_cast<double>(line.result.capacity) / static_cast<double>(halo);
}

Json lines_json(std::span<const Line> lines, std::uint64_t halo) {
    Json list = Json::array();
    for (const Line& line : lines) {
        const RowAccounts& rows = line.result.rows;
        list.push_back({{"policy", line.one.policy.text()},
                        {"fraction", fraction_of(line, halo)},
                        {"capacity", line.result.capacity},
                        {"demand", rows.demand},
                        {"replacement", rows.replacement},
                        {"ahead", rows.ahead},
                        {"hits", rows.hits}});
    }
    return list;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return "-";
    return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string lines_text(std::span<const Line> lines, std::uint64_t halo) {
    Table table({"buffer", "rows", "policy", "fetched", "demand", "replacement", "ahead", "hits",
                 "hit rate", "of optimal"});
    for (const Line& line : lines) {
        const RowAccounts& rows = line.result.rows;
        table.add(
            {fmt::format("{:.4g}", fraction_of(line, halo)), format_count(line.result.capacity),
             line.one.policy.text(), format_count(rows.fetched()), format_count(rows.demand),
             format_count(rows.replacement), format_count(rows.ahead), format_count(rows.hits),
             share(rows.hits, rows.needed), share(rows.fetched(), line.floor)});
    }
    return table.text();
}

std::string policies_text() {
    KeyValues lines;
    for (const PolicyInfo* info : all_policies()) {
        lines.emplace_back(std::string(info->name),
                           fmt::format("{} [{}]", info->sentence, info->paper));
        for (const PolicyParameter& p : info->parameters) {
            lines.emplace_back(fmt::format("  {}", p.name),
                               p.kind == ParameterKind::flag || p.fallback < p.minimum
                                   ? std::string(p.help)
                                   : fmt::format("{} ({})", p.help, p.fallback));
        }
    }
    return key_values(lines);
}

Json policies_json() {
    Json list = Json::array();
    for (const PolicyInfo* info : all_policies()) {
        Json parameters = Json::array();
        for (const PolicyParameter& p : info->parameters) {
            parameters.push_back({{"name", p.name}, {"help", p.help}});
            if (p.kind == ParameterKind::flag) continue;
            parameters.back()["minimum"] = p.minimum;
            parameters.back()["maximum"] = p.maximum;
            if (p.fallback >= p.minimum) parameters.back()["default"] = p.fallback;
        }
        list.push_back({{"name", info->name},
                        {"sentence", info->sentence},
                        {"paper", info->paper},
                        {"parameters", parameters}});
    }
    return list;
}

int ReplayVerb::run(const Context& context) {
    if (list_) {
        context.json ? print_json(policies_json()) : print_text(policies_text());
        return 0;
    }
    if (trace_.empty()) {
        throw usage_error("no trace is given", "TRACE",
                          "give a run folder, its trace/ or an NPZ trace");
    }
    const auto asked = specs();
    const auto of_size = sizes();
    const Trace trace = read_trace(trace_);
    if (!data_.empty()) expect_graph(trace, data_);
    const auto lines = run_cases(trace, asked, of_size);
    if (context.json) {
        print_json(lines_json(lines, halo_of(trace)));
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
