// rudder compare PATH
#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/llm_models.hpp"
#include "cli/train_settings.hpp"
#include "cli/train_view.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "core/staging.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/train/trainer.hpp"
#include "run/run_card.hpp"
#include "run/run_recorder.hpp"
#include "run/train_observers.hpp"
#include "train/prediction/inference.hpp"

#include "compare_rows.hpp"

namespace rudder::cli {

namespace {

/// What compare has of its own.
struct CompareForm {
    std::uint32_t repeat = 1;
    std::string csv;
};

std::span<const Setting<CompareForm>> compare_options() {
    using O = CompareForm;
    constexpr double most_repeats = 1000;
    static const std::array table{
        setting<O, &O::repeat>("repeat", "Train everything N times, in turns: medians and spread")
            .limit(1, most_repeats)
            .in("N"),
        setting<O, &O::csv>("csv", "Also write a line per run to this CSV file").in("FILE"),
    };
    return table;
}

class CompareVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "compare"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Train with several policies or agents in turn and compare what they cost";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder compare parts --ranks 2 --epochs 2 --policy none --policy window:16";
    }
    [[nodiscard]] std::string notes() const override { return policy_notes(); }
    void define(CLI::App& app) override;
    void settle() override { cli::settle(settings_, *app_); }
    int run(const Context& context) override;

private:
    int train(const comm::Communicator& comm, const train::TrainOptions& options,
              const Context& context);
    /// Where a run stands among all.
    struct Turn {
        std::size_t row;
        std::size_t rows;
        std::uint32_t repeat;
    };
    [[nodiscard]] std::filesystem::path folder_of(const ComparedRow& row, const Turn& turn) const;
    void train_one(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                   ComparedRow& row, const Turn& turn, const Context& context) const;
    void record_floor(std::span<const ComparedRow> rows, std::uint64_t floor) const;
    void show(std::span<const ComparedRow> rows, const CompareFacts& facts,
              const Context& context) const;

    /// All pairs of a policy and an agent; a policy with an agent of its own (POLICY+AGENT) is one.
    [[nodiscard]] std::vector<train::TrainOptions> contenders(
        const train::TrainOptions& options) const;

    CLI::App* app_ = nullptr;
    TrainSettings settings_;
    CompareForm form_;
    std::vector<std::string> policies_;
    std::vector<std::string> agents_;
    std::vector<std::string> models_;  ///< of agent llm
};

void CompareVerb::define(CLI::App& app) {
    using Group = train::OptionGroup;
    app_ = &app;
    offer_folders(*app.add_option("PATH", settings_.data, "Partitioned data set")->required());
    app.add_option("--policy", policies_,
                   "NAME[:VALUE]{,KEY:VALUE}[+AGENT]; may be repeated\n(default: five kinds)")
        ->allow_extra_args(false);
    app.add_option("--agent", agents_,
                   "Agent to pair with every policy; may be repeated; see agent list")
        ->allow_extra_args(false);
    app.add_option("--llm-model", models_,
                   "Model of agent llm; may be repeated (default: the server's first)")
        ->allow_extra_args(false)
        ->group(std::string(further_options));
    bind_train(app,
               {Group::model, Group::task, Group::sampling, Group::training, Group::seed,
                Group::evaluation, Group::buffer, Group::storage, Group::limits, Group::device,
                Group::steering, Group::guard, Group::slowness, Group::llm},
               settings_.train);
    bind_ranks(app, settings_.ranks);
    bind_options(app, compare_options(), form_);
    bind_run(app, {RunGroup::output, RunGroup::trace, RunGroup::metrics}, settings_);
    offer_specs(app);
    app.get_option("--out")->description("Folder for the run folders, one per row and repeat");
    app.get_option("--trace")->description("Record the rows of every step in trace/ of each run");
}

std::vector<train::TrainOptions> CompareVerb::contenders(const train::TrainOptions& options) const {
    std::vector<train::TrainOptions> all;
    const std::vector<std::string> nobody{"never"};
    for (const std::string& policy : policies_) {
        const std::size_t plus = policy.find('+');
        const bool pair = plus != std::string::npos;
        const std::vector<std::string> named{pair ? policy.substr(plus + 1) : ""};
        for (const std::string& agent : pair ? named : agents_.empty() ? nobody : agents_) {
            train::TrainOptions& one = all.emplace_back(options);
            one.policy = policy.substr(0, plus);
            one.steer.agent = agent;
        }
    }
    return all;
}

int CompareVerb::run(const Context& context) {
    agents_ = with_models(agents_, models_);
    if (policies_.empty() && !agents_.empty()) {
        // One that every agent named can do something about.
        const bool decide = std::ranges::any_of(agents_, [](const std::string& text) {
            return steer::AgentSpec::parse(text).decides();
        });
        policies_ = {decide ? "scored" : "window"};
    }
    if (policies_.empty()) {
        policies_ = {"none", "static-degree", "scored-faithful,every:4", "periodic", "window"};
    }
    const train::TrainOptions options = settings_.train;
    for (const train::TrainOptions& one : contenders(options))
        check_options(one);
    if (!settings_.out.empty()) run::RunFolder::check(settings_.out, settings_.existing());
    // What cannot be written is told before hours of training.
    if (!form_.csv.empty()) (void)Staging::file(form_.csv, settings_.existing());
    const partition::PartitionedDataset data(settings_.data);
    run::RankOptions& ranks = settings_.ranks;
    ranks.arguments = context.arguments;
    ranks.parts = data.parts();
    if (ranks.ranks > 0) pass_terminal_on();
    const comm::Fingerprint fingerprint{{"command", context.provenance.made_by},
                                        {"data", train::data_checksum(data)}};
    return context.run_ranks(ranks, fingerprint, [&](const comm::Communicator& comm) {
        return train(comm, options, context);
    });
}

/// As a folder may be called: the row's number keeps the order of the table.
std::string folder_name(std::size_t row, std::size_t rows, const std::string& text) {
    constexpr std::size_t longest = 80;
    std::string name = fmt::format("{:0{}}-", row + 1, std::to_string(rows).size());
    for (const char c : text.substr(0, longest)) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
        if (plain || name.back() != '-') name += plain ? c : '-';
    }
    while (name.back() == '-')
        name.pop_back();
    return name;
}

/// Every row once, then every row again: what changes on the machine meanwhile meets all of them.
int CompareVerb::train(const comm::Communicator& comm, const train::TrainOptions& options,
                       const Context& context) {
    run::share_cores(comm, context.threads);
    const partition::PartitionedDataset data(settings_.data);
    const bool first = comm.rank() == 0;
    if (first && !settings_.out.empty())
        Staging::folder(settings_.out, settings_.existing()).commit();
    std::vector<ComparedRow> rows;
    for (train::TrainOptions& one : contenders(options)) {
        const bool steered = !agents_.empty() || one.steer.agent != "never";
        if (first) warn_of_idle_agent(one);
        rows.push_back({.options = std::move(one), .steered = steered});
    }
    bool floor_known = false;
    for (std::uint32_t repeat = 0; repeat < form_.repeat; ++repeat) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            ComparedRow& row = rows[i];
            row.options.verify = options.verify && i == 0 && repeat == 0;
            // All see the same steps with the same buffer, so one of them finds the floor for all;
            // not the one without a buffer, if it can be helped.
            const bool last = i + 1 == rows.size();
            row.options.floor =
                !floor_known && (last || train::policy_of(row.options).name() != "none");
            floor_known = floor_known || row.options.floor;
            train_one(comm, data, row, {i, rows.size(), repeat}, context);
            const train::TrainResult& result = row.runs.back().result;
            if (result.interrupted) return static_cast<int>(ErrorKind::interrupted);
            const std::uint64_t digest = rows.front().runs.front().result.digest;
            if (result.digest != digest) {
                throw Error(
                    ErrorKind::failed,
                    fmt::format("{} and {} trained differently (digests {} and {})", row.name(),
                                rows.front().name(), to_hex(result.digest), to_hex(digest)),
                    settings_.data, "a buffer must not change a result: report this");
            }
        }
    }
    if (!first) return 0;
    CompareFacts facts{run_facts_of(comm, data, settings_), {}};
    for (const ComparedRow& row : rows) {
        for (const ComparedRun& run : row.runs)
            facts.floor = facts.floor ? facts.floor : run.result.floor;
    }
    if (!settings_.out.empty() && facts.floor) record_floor(rows, *facts.floor);
    show(rows, facts, context);
    return 0;
}

/// A folder per row; with repeats, one for each of them inside.
std::filesystem::path CompareVerb::folder_of(const ComparedRow& row, const Turn& turn) const {
    if (settings_.out.empty()) return {};
    // As it is called before it has run, whatever its policy begins with.
    const std::string name = ComparedRow{.options = row.options, .steered = row.steered}.name();
    std::filesystem::path folder(settings_.out);
    folder /= folder_name(turn.row, turn.rows, name);
    if (form_.repeat > 1) {
        folder /=
            fmt::format("repeat-{:0{}}", turn.repeat + 1, std::to_string(form_.repeat).size());
    }
    return folder;
}

void CompareVerb::train_one(const comm::Communicator& comm,
                            const partition::PartitionedDataset& data, ComparedRow& row,
                            const Turn& turn, const Context& context) const {
    ComparedRun& run = row.runs.emplace_back();
    run.folder = folder_of(row, turn);
    if (settings_.trace) row.options.trace = run.folder / "trace";
    const bool first = comm.rank() == 0;
    const std::string title = ComparedRow{.options = row.options, .steered = row.steered}.name();
    const std::string place = form_.repeat == 1
                                  ? std::string()
                                  : fmt::format(", repeat {} of {}", turn.repeat + 1, form_.repeat);
    TrainView view(
        {.live = first && !context.quiet && live_terminal(),
         .lines = first && !context.json,
         .plan = run_plan(row.options, comm,
                          fmt::format("{} ({} of {}{})", title, turn.row + 1, turn.rows, place))});
    train::Trainer trainer(comm, data, row.options);
    run::TrainObservers observers;
    const train::RunFacts known = run_facts_of(comm, data, settings_);
    std::optional<run::RunRecorder> recorder;
    if (first && (!run.folder.empty() || settings_.sinks.port)) {
        std::optional<run::RunFolder> folder;
        if (!run.folder.empty()) {
            std::filesystem::create_directories(run.folder.parent_path());
            folder.emplace(run.folder, Existing::refuse, context.provenance.config);
        }
        Json card = run::run_facts(comm, data, settings_.data, row.options, settings_.ranks,
                                   {trainer.steps_per_epoch(), trainer.policy().text()});
        card["title"] = title;
        if (form_.repeat > 1) {
            card["repeat"] = turn.repeat + 1;
            card["repeats"] = form_.repeat;
        }
        recorder.emplace(std::move(folder), card, settings_.sinks, run::RunPosition(),
                         known.regression);
    }
    run::RunRecorder* const records = recorder ? &*recorder : nullptr;
    if (records != nullptr) observers.add(*records);
    observers.add(view);
    if (first && context.observer != nullptr) observers.add(*context.observer);
    run.result = run::recorded(records, [&] { return trainer.run(observers); });
    if (records == nullptr) return;
    run.summary = train::summary_json(run.result, row.options, known);
    run.summary["sinks"] = records->close(run.result.cpu_seconds);
    run.result.interrupted ? records->interrupt() : records->finish(run.summary);
}

/// The floor is found by one run and holds for all.
void CompareVerb::record_floor(std::span<const ComparedRow> rows, std::uint64_t floor) const {
    for (const ComparedRow& row : rows) {
        for (const ComparedRun& run : row.runs) {
            Json summary = run.summary;
            summary["rows"]["floor"] = floor;
            Staging staging = Staging::file(run.folder / "summary.json", Existing::replace);
            write_text(staging.path(), summary.dump(2) + "\n");
            staging.commit();
        }
    }
}

void CompareVerb::show(std::span<const ComparedRow> rows, const CompareFacts& facts,
                       const Context& context) const {
    if (!form_.csv.empty()) {
        Staging staging = Staging::file(form_.csv, settings_.existing());
        write_text(staging.path(), compare_csv(rows, facts));
        staging.commit();
    }
    if (context.json) {
        context.answer(compare_json(rows, facts));
        return;
    }
    const bool live = !context.quiet && live_terminal();
    print_below_view(compare_table(rows, facts), live);
    print_below_view(
        fmt::format("\n{}All digests are equal ({}). {}\n",
                    form_.repeat == 1
                        ? std::string()
                        : fmt::format("Medians of {} runs each, in turns; in brackets "
                                      "the least and the most. ",
                                      form_.repeat),
                    to_hex(rows.front().runs.front().result.digest), compare_advice(rows, facts)),
        live);
}

}  // namespace

std::unique_ptr<Verb> make_compare_verb() {
    return std::make_unique<CompareVerb>();
}

}  // namespace rudder::cli
