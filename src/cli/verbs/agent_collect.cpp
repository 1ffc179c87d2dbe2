// rudder agent collect TRACE... --out TABLE
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "rudder/cli/describe.hpp"
#include "rudder/cli/table.hpp"
#include "rudder/cli/verb.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/json.hpp"
#include "rudder/core/staging.hpp"
#include "rudder/core/text.hpp"
#include "rudder/steer/collect.hpp"

#include "sample_archive.hpp"

namespace rudder::cli {

namespace {

class AgentCollectVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "agent collect"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Collect samples for classifiers: decisions by chance, each tried both ways";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder agent collect graph=trace.npz --buffer 0.25 --stride 16 --out samples";
    }

    void define(CLI::App& app) override {
        app.add_option("TRACE", traces_,
                       "Run folders, trace/ folders or NPZ traces, as GRAPH=TRACE\n"
                       "(GRAPH: the name to split by; if not given, the file's)")
            ->required();
        app.add_option("--out", out_, "Writes OUT.csv and OUT.npz")->required();
        app.add_option("--policy", policies_,
                       "Without its own signal; may be repeated\n"
                       "(if not given: scored-faithful and scored)")
            ->allow_extra_args(false);
        app.add_option("--buffer", fractions_,
                       "Size as a fraction of the halo; may be repeated\n"
                       "(if not given: 0.05 and 0.25)")
            ->allow_extra_args(false);
        app.add_option("--horizon", options_.horizon,
                       "Steps over which replacing and not replacing are compared")
            ->check(CLI::Range(1, 1024).description(""))
            ->capture_default_str();
        app.add_option("--stride", options_.stride, "Label one step in so many")
            ->check(CLI::Range(1, 1000000).description(""))
            ->capture_default_str();
        app.add_option("--seed", options_.seed, "Of the decisions")->capture_default_str();
        app.add_flag("--force", force_, "Replace existing tables");
    }

    int run(const Context& context) override;

private:
    std::vector<std::string> traces_;
    std::string out_;
    std::vector<std::string> policies_;
    std::vector<double> fractions_;
    CollectOptions options_;
    bool force_ = false;
};

/// A trace with the name of its graph.
struct Named {
    std::string graph;
    std::string path;
};

Named named(const std::string& text) {
    const auto equals = text.find('=');
    if (equals != std::string::npos && text.find('/') > equals)
        return {text.substr(0, equals), text.substr(equals + 1)};
    const std::filesystem::path path(text);
    const std::string stem = path.stem().string();
    if (stem.empty() || stem == "trace") return {path.parent_path().filename().string(), text};
    return {stem, text};
}

void check_name(const Named& one) {
    if (one.graph.empty() || one.graph.find_first_of(",\n\r\"") != std::string::npos) {
        throw usage_error(fmt::format("'{}' is no name of a graph", one.graph), "TRACE",
                          "write GRAPH=TRACE with a name without commas or quotes");
    }
}

/// How often replacing was right, by graph, policy and size.
struct Share {
    std::uint64_t samples = 0;
    std::uint64_t label = 0;
    std::uint64_t paper = 0;
};
using ShareKey = std::array<std::string, 3>;

std::map<ShareKey, Share> shares(const SampleTable& table) {
    std::map<ShareKey, Share> all;
    for (const Sample& s : table.samples) {
        Share& one =
            all[{table.graphs[s.graph], table.policies[s.policy], fmt::format("{:.2f}", s.buffer)}];
        ++one.samples;
        one.label += s.label.value_or(false) ? 1U : 0U;
        one.paper += s.paper.value_or(false) ? 1U : 0U;
    }
    return all;
}

double part_of(std::uint64_t part, std::uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
}

void print(const SampleTable& table, bool json) {
    Json list = Json::array();
    Table text({"graph", "policy", "buffer", "samples", "replacing is right", "published label 1"});
    for (const auto& [key, one] : shares(table)) {
        const double label = part_of(one.label, one.samples);
        const double paper = part_of(one.paper, one.samples);
        list.push_back({{"graph", key[0]},
                        {"policy", key[1]},
                        {"buffer", key[2]},
                        {"samples", one.samples},
                        {"label", label},
                        {"paper_label", paper}});
        text.add({key[0], key[1], key[2], format_count(one.samples),
                  fmt::format("{:.1f} %", 100 * label), fmt::format("{:.1f} %", 100 * paper)});
    }
    json ? print_json(list) : print_text(text.text());
}

/// The same graph under two names would be on both sides of a split.
void check_graphs(std::map<std::string, std::string>& name_of, const Trace& trace,
                  const std::string& name) {
    const std::string& checksum = trace.front()->header().graph;
    if (checksum.empty()) return;
    const auto [known, fresh] = name_of.try_emplace(checksum, name);
    if (!fresh && known->second != name) {
        throw usage_error(fmt::format("'{}' and '{}' are the same graph", known->second, name),
                          "TRACE", "give traces of one graph one name: GRAPH=TRACE");
    }
}

int AgentCollectVerb::run(const Context& context) {
    if (policies_.empty()) policies_ = {"scored-faithful", "scored"};
    if (fractions_.empty()) fractions_ = {0.05, 0.25};
    for (const double fraction : fractions_) {
        if (!(fraction > 0 && fraction <= 1)) {
            throw usage_error(fmt::format("{} is no fraction of the halo", fraction), "--buffer",
                              "give a number above 0 and up to 1, such as 0.25");
        }
    }
    const auto existing = force_ ? Existing::replace : Existing::refuse;
    Staging csv = Staging::file(out_ + ".csv", existing);
    Staging npz = Staging::file(out_ + ".npz", existing);
    SampleTable table;
    std::map<std::string, std::string> name_of;
    for (const std::string& text : traces_) {
        const Named one = named(text);
        check_name(one);
        const Trace trace = read_trace(one.path);
        check_graphs(name_of, trace, one.graph);
        for (const std::string& policy : policies_) {
            for (const double fraction : fractions_) {
                table.append(
                    collect(trace, one.graph, PolicySpec::parse(policy), {fraction, 0}, options_),
                    one.path);
            }
        }
    }
    if (table.samples.empty()) {
        throw input_error("the traces are shorter than the horizon", "TRACE",
                          "give longer traces or a shorter --horizon");
    }
    label_as_published(table);
    write_text(csv.path(), to_csv(table));
    write_archive(table, npz.path());
    csv.commit();
    npz.commit();
    print(table, context.json);
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_agent_collect_verb() {
    return std::make_unique<AgentCollectVerb>();
}

}  // namespace rudder::cli
