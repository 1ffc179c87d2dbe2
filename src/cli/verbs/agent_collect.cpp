// rudder agent collect TRACE... --out OUT
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/train_settings.hpp"
#include "cli/verb.hpp"
#include "comm/together.hpp"
#include "core/json.hpp"
#include "core/spec_registry.hpp"
#include "rudder/core/error.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/trainer.hpp"
#include "steer/samples/prompt_collector.hpp"
#include "steer/samples/sample_collector.hpp"
#include "train/prediction/inference.hpp"

#include "collect_table.hpp"
#include "prompt_file.hpp"

namespace rudder::cli {

namespace {

constexpr std::array<std::string_view, 2> purposes{"classifier", "llm"};  ///< as CollectFor
/// Longer than most refills take to pay back.
constexpr std::uint64_t prompt_horizon = 64;

class AgentCollectVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "agent collect"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Collect decisions to learn from: random ones, each tried in all ways";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder agent collect graph=trace.npz --buffer 0.25 --stride 16 --out samples";
    }

    void define(CLI::App& app) override {
        app_ = &app;
        app.add_option("TRACE", traces_,
                       "Run folders, trace/ folders or NPZ traces, or a partitioned data set,\n"
                       "which is then trained on; as GRAPH=TRACE\n"
                       "(GRAPH: the name to split by; default: the file's)")
            ->required();
        app.add_option("--out", out_, "Output: OUT.csv and OUT.npz, or OUT.jsonl with --for llm")
            ->required();
        offer(*app.add_option("--for", purpose_,
                              "Who is to learn: classifier (when to replace) or llm (prompts\n"
                              "and the cost of every action)")
                   ->capture_default_str(),
              purposes);
        app.add_option("--policy", policies_,
                       "Policy without its own signal; may be repeated\n"
                       "(default: scored-faithful and scored; for llm: scored and window:16)")
            ->allow_extra_args(false);
        constexpr SettingKind whole = SettingKind::integer;
        limit(app.add_option("--buffer", fractions_,
                             "Buffer size as a fraction of the halo; may be repeated\n"
                             "(default: 0.05 and 0.25)"),
              "buffer", SettingKind::real, {0, 1e6})
            .allow_extra_args(false);
        limit(app.add_option("--horizon", options_.horizon,
                             "Steps over which answers are compared (for llm: 64)"),
              "horizon", whole, {1, 1024})
            .capture_default_str();
        limit(app.add_option("--stride", options_.stride,
                             "Try one step in N; for llm, one question in N"),
              "stride", whole, {1, 1e6})
            .capture_default_str();
        limit(
            app.add_option("--interval", options_.interval, "For llm: steps between two questions"),
            "interval", whole, {1, 1e6})
            .capture_default_str();
        app.add_flag("--guarded", options_.guarded,
                     "For llm: let the guard take back harmful changes, as in a run");
        limit(app.add_option("--seed", options_.seed, "Random seed of the decisions"), "seed",
              whole, {0})
            .capture_default_str();
        app.add_flag("--force", force_, "Replace existing outputs");
        define_training(app);
        offer_specs(app);
    }

    int run(const Context& context) override;

private:
    void define_training(CLI::App& app);
    void settle_purpose();
    [[nodiscard]] bool for_llm() const noexcept {
        return options_.purpose == steer::CollectFor::llm;
    }
    int run_traces(const Context& context);
    int trace_samples(const Context& context);
    int trace_prompts(const Context& context);
    int run_live(const Context& context);
    /// What training runs are for: one per policy and size, in the same ranks.
    struct LiveRuns {
        const comm::Communicator& comm;
        const partition::PartitionedDataset& data;
        const std::string& graph;
        std::span<const train::TrainOptions> all;
    };
    int train_samples(const LiveRuns& runs, const Context& context);
    int train_prompts(const LiveRuns& runs, const Context& context);
    /// The runs to collect from: all pairs of a policy and a size.
    [[nodiscard]] std::vector<train::TrainOptions> runs();
    [[nodiscard]] Existing existing() const noexcept {
        return force_ ? Existing::replace : Existing::refuse;
    }

    CLI::App* app_ = nullptr;
    TrainSettings settings_;
    std::vector<std::string> traces_;
    std::string out_;
    std::vector<std::string> policies_;
    std::vector<double> fractions_;
    std::string purpose_{purposes.front()};
    steer::CollectOptions options_;
    bool force_ = false;
};

/// Options of the run that samples are collected from, where there is one.
void AgentCollectVerb::define_training(CLI::App& app) {
    using Group = train::OptionGroup;
    bind_train(app,
               {Group::model, Group::task, Group::sampling, Group::training, Group::storage,
                Group::limits},
               settings_.train, HelpListing::none);
    bind_ranks(app, settings_.ranks, HelpListing::none);
}

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
        throw usage_error(fmt::format("invalid graph name: '{}'", one.graph), "TRACE",
                          "write GRAPH=TRACE with a name without commas or quotes");
    }
}

/// The same graph under two names would be on both sides of a split.
void check_graphs(std::map<std::string, std::string>& name_of, const buffer::Trace& trace,
                  const std::string& name) {
    const std::string& checksum = trace.front()->header().graph;
    if (checksum.empty()) return;
    const auto [known, fresh] = name_of.try_emplace(checksum, name);
    if (!fresh && known->second != name) {
        throw usage_error(fmt::format("'{}' and '{}' are the same graph", known->second, name),
                          "TRACE", "give traces of one graph one name: GRAPH=TRACE");
    }
}

/// What --for means for the others.
void AgentCollectVerb::settle_purpose() {
    const auto found = std::ranges::find(purposes, purpose_);
    if (found == purposes.end()) throw unknown_name("purpose", purpose_, purposes, "--for");
    options_.purpose = static_cast<steer::CollectFor>(found - purposes.begin());
    for (const char* option : {"--interval", "--guarded"}) {
        if (for_llm() || !given(*app_, option)) continue;
        throw usage_error(fmt::format("{} is of --for llm alone", option), option,
                          "give --for llm, too, or leave it out");
    }
    if (for_llm() && !given(*app_, "--horizon")) options_.horizon = prompt_horizon;
    if (!policies_.empty()) return;
    policies_ = for_llm() ? std::vector<std::string>{"scored", "window:16"}
                          : std::vector<std::string>{"scored-faithful", "scored"};
}

int AgentCollectVerb::run(const Context& context) {
    settle_purpose();
    if (fractions_.empty()) fractions_ = {0.05, 0.25};
    for (const double fraction : fractions_) {
        if (!(fraction > 0 && fraction <= 1)) {
            throw usage_error(fmt::format("invalid buffer fraction: {}", fraction), "--buffer",
                              "give a number above 0 and up to 1, such as 0.25");
        }
    }
    const bool live = std::ranges::any_of(traces_, [](const std::string& text) {
        return graph::ArrayFolder::is(named(text).path, partition::partition_format);
    });
    return live ? run_live(context) : run_traces(context);
}

/// Calls `take` with every trace, once all that can be said of its name was checked.
void for_traces(std::span<const std::string> texts,
                const std::function<void(const Named&, const buffer::Trace&)>& take) {
    std::map<std::string, std::string> name_of;
    for (const std::string& text : texts) {
        const Named one = named(text);
        check_name(one);
        const buffer::Trace trace = buffer::read_trace(one.path);
        check_graphs(name_of, trace, one.graph);
        take(one, trace);
    }
}

int AgentCollectVerb::run_traces(const Context& context) {
    return for_llm() ? trace_prompts(context) : trace_samples(context);
}

int AgentCollectVerb::trace_samples(const Context& context) {
    SampleFiles files(out_, existing());
    steer::SampleTable table;
    for_traces(traces_, [&](const Named& one, const buffer::Trace& trace) {
        for (const std::string& policy : policies_) {
            for (const double fraction : fractions_) {
                table.append(steer::collect(trace, one.graph, buffer::PolicySpec::parse(policy),
                                            {fraction, 0}, options_),
                             one.path);
            }
        }
    });
    files.write(table);
    print_shares(table, context.json);
    return 0;
}

int AgentCollectVerb::trace_prompts(const Context& context) {
    for (const std::string& policy : policies_)
        steer::check_promptable(buffer::PolicySpec::parse(policy));
    PromptFile file(out_, existing());
    for_traces(traces_, [&](const Named& one, const buffer::Trace& trace) {
        for (const std::string& policy : policies_) {
            for (const double fraction : fractions_) {
                file.begin({one.graph, policy, fraction}, trace.size());
                steer::collect_prompts(trace, buffer::PolicySpec::parse(policy), {fraction, 0},
                                       options_,
                                       [&file](std::size_t host, const steer::PromptLine& line) {
                                           file.add(host, line);
                                       });
                file.end();
            }
        }
    });
    file.commit();
    file.print(context.json);
    return 0;
}

std::vector<train::TrainOptions> AgentCollectVerb::runs() {
    std::vector<train::TrainOptions> all;
    cli::settle(settings_, *app_);
    for (const std::string& policy : policies_) {
        for (const double fraction : fractions_) {
            train::TrainOptions& one = all.emplace_back(settings_.train);
            one.policy = policy;
            one.buffer = fraction;
            one.seed = options_.seed;
            one.eval_every = 0;
            // One that has a say with every such policy; it gives way to the collector.
            one.steer.agent = for_llm() ? train::default_agent : "always";
            one.steer.collect = options_;
            check_options(one);
            for_llm() ? steer::check_promptable(train::policy_of(one))
                      : steer::check_collectable(train::policy_of(one));
        }
    }
    return all;
}

int AgentCollectVerb::run_live(const Context& context) {
    if (traces_.size() != 1) {
        throw usage_error("a data set to train on cannot be combined with other inputs", "TRACE",
                          "collect from it by itself; 'agent train' reads several tables");
    }
    const Named one = named(traces_.front());
    check_name(one);
    const auto all = runs();
    const partition::PartitionedDataset data(one.path);
    run::RankOptions& ranks = settings_.ranks;
    ranks.arguments = context.arguments;
    ranks.parts = data.parts();
    const comm::Fingerprint fingerprint{{"command", context.provenance.made_by},
                                        {"data", train::data_checksum(data)}};
    return run::run_ranked(ranks, fingerprint, [&](const comm::Communicator& comm) {
        run::share_cores(comm, context.threads);
        const LiveRuns runs{comm, data, one.graph, all};
        return for_llm() ? train_prompts(runs, context) : train_samples(runs, context);
    });
}

int AgentCollectVerb::train_samples(const LiveRuns& runs, const Context& context) {
    std::optional<SampleFiles> files;
    comm::do_together(runs.comm, [&] {
        if (runs.comm.rank() == 0) files.emplace(out_, existing());
    });
    steer::SampleTable table;
    for (const train::TrainOptions& options : runs.all) {
        train::Trainer trainer(runs.comm, runs.data, options);
        train::TrainObserver observer;
        train::TrainResult result = trainer.run(observer);
        if (result.interrupted) return static_cast<int>(ErrorKind::interrupted);
        if (result.samples == nullptr || result.samples->samples.empty()) continue;
        result.samples->graphs = {runs.graph};
        table.append(*result.samples, runs.graph);
    }
    comm::do_together(runs.comm, [&] {
        if (files) files->write(table);
    });
    if (files) print_shares(table, context.json);
    return 0;
}

/// Hands what a run collects to the file, on rank 0.
class PromptObserver final : public train::TrainObserver {
public:
    explicit PromptObserver(PromptFile* file) : file_(file) {}
    void prompts(std::span<const steer::PromptLine> lines) override {
        for (const steer::PromptLine& line : lines)
            file_->add(line.host, line);
    }

private:
    PromptFile* file_;
};

int AgentCollectVerb::train_prompts(const LiveRuns& runs, const Context& context) {
    std::optional<PromptFile> file;
    comm::do_together(runs.comm, [&] {
        if (runs.comm.rank() == 0) file.emplace(out_, existing());
    });
    for (const train::TrainOptions& options : runs.all) {
        if (file) {
            file->begin({runs.graph, options.policy, options.buffer},
                        static_cast<std::size_t>(runs.comm.size()));
        }
        PromptObserver observer(file ? &*file : nullptr);
        train::Trainer trainer(runs.comm, runs.data, options);
        if (trainer.run(observer).interrupted) return static_cast<int>(ErrorKind::interrupted);
        comm::do_together(runs.comm, [&] {
            if (file) file->end();
        });
    }
    comm::do_together(runs.comm, [&] {
        if (file) file->commit();
    });
    if (file) file->print(context.json);
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_agent_collect_verb() {
    return std::make_unique<AgentCollectVerb>();
}

}  // namespace rudder::cli
