// rudder train PATH
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/bind_options.hpp"
#include "cli/config.hpp"
#include "cli/describe.hpp"
#include "cli/rank_tally.hpp"
#include "cli/summary_text.hpp"
#include "cli/train_settings.hpp"
#include "cli/train_view.hpp"
#include "cli/verb.hpp"
#include "comm/together.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/system.hpp"
#include "partition/share.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/run/ranks.hpp"
#include "rudder/train/trainer.hpp"
#include "run/partition_cache.hpp"
#include "run/profile_file.hpp"
#include "run/run_card.hpp"
#include "run/run_folder.hpp"
#include "run/run_recorder.hpp"
#include "run/train_observers.hpp"
#include "train/checkpoints/checkpoint_keeper.hpp"
#include "train/evaluation/pace.hpp"
#include "train/memory_fit.hpp"
#include "train/prediction/inference.hpp"
#include "train/summary.hpp"

namespace rudder::cli {

namespace {

/// The plan as JSON.
Json plan_json(const train::TrainPlan& plan, int ranks) {
    return {{"ranks", ranks},
            {"steps_per_epoch", plan.steps_per_epoch},
            {"parameters", plan.parameters},
            {"topology", plan.topology},
            {"memory",
             {{"topology", plan.topology_bytes},
              {"features", plan.store_bytes},
              {"network", plan.network_bytes},
              {"in_flight", plan.in_flight_bytes},
              {"buffer", plan.buffer_bytes},
              {"bookkeeping", plan.bookkeeping_bytes},
              {"queue", plan.queue_bytes},
              {"evaluation", plan.evaluation_bytes},
              {"needed", plan.needed_bytes()},
              {"available", plan.memory_bytes},
              {"device", plan.device_bytes}}},
            {"bytes",
             {{"per_remote_row", plan.bytes_per_remote_row()},
              {"remote_rows", plan.remote_vertices},
              {"per_edge", plan.bytes_per_edge()},
              {"edges", plan.edges_ahead}}},
            {"epoch",
             {{"rows", plan.rows},
              {"remote_rows", plan.remote_rows},
              {"feature_bytes", plan.feature_bytes},
              {"gradient_bytes", plan.gradient_bytes},
              {"before_coding", plan.coded}}}};
}

/// The table of a run that had finished before; a summary of another version may lack keys.
std::string finished_text(const Json& summary, const std::string& folder) {
    try {
        return summary_text(train::summary_from_json(summary, folder), {}, folder);
    } catch (const Error&) {
        return summary.dump(2) + "\n";
    }
}

/// What a person should know before the first step; may be empty.
std::string opening_lines(const TrainSettings& settings, const train::RunFacts& facts,
                          std::uint64_t steps_per_epoch) {
    std::string text;
    if (settings.batch_chosen) {
        text += fmt::format("batch {} per part: {} steps per epoch (--batch sets another)\n",
                            settings.train.batch, format_count(steps_per_epoch));
    }
    if (facts.hosts > 1) return text;
    text += "one host: no row is remote, so there is nothing to fetch ahead or to steer\n";
    if (facts.parts == 1) return text + "  to see steering, train on a data set of several parts\n";
    return text + fmt::format("  to see steering: {}--ranks-per-host 1, or --link 100us,1gbit\n",
                              facts.ranks == 1 ? fmt::format("--ranks {} ", facts.parts) : "");
}

/// What became of the checkpoints of a run; `complete`: its last weights and its best are there.
Json checkpoints_json(const train::CheckpointReport& report, const train::TrainResult& result) {
    const auto step = [](const std::optional<std::uint64_t>& s) { return s ? Json(*s) : Json(); };
    std::optional<std::uint64_t> best;
    if (result.best_epoch) best = (*result.best_epoch + 1) * result.steps_per_epoch;
    return {{"written", report.written},
            {"failed", report.failed},
            {"last", step(report.last)},
            {"best", step(report.best)},
            {"complete", report.last == result.steps && (!best || report.best == best)},
            {"error", report.error.empty() ? Json() : Json(report.error)}};
}

/// Ends a run with an Error whose weights could not be kept as its summary says.
void expect_complete(const Json& checkpoints, const std::string& out) {
    if (checkpoints.is_null() || checkpoints.at("complete").get<bool>()) return;
    // Without a failure it is the best of an earlier version's run, which kept it not always.
    const Json& error = checkpoints.at("error");
    if (error.is_null()) return;
    throw Error(
        ErrorKind::failed,
        fmt::format("the last or the best weights were not written: {}", error.get<std::string>()),
        out, "make room, then resume from the last good checkpoint with --resume");
}

class TrainVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "train"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Train a graph neural network on a partitioned data set";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder train parts --ranks 2 --epochs 5 --out run";
    }
    [[nodiscard]] std::string notes() const override { return policy_notes(); }
    void define(CLI::App& app) override;
    void settle() override;
    int run(const Context& context) override;

private:
    void divide(const Context& context);
    int train(const comm::Communicator& comm, const Context& context);
    void check_memory(const train::TrainPlan& plan) const;
    void show_plan(const train::TrainPlan& plan, const comm::Communicator& comm,
                   const Context& context) const;
    int train_recorded(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                       train::Trainer& trainer, const Context& context) const;
    [[nodiscard]] bool already_done(const Context& context) const;
    [[nodiscard]] std::string after_interrupt() const;
    [[nodiscard]] std::vector<std::string> resuming(std::vector<std::string> arguments) const;
    [[nodiscard]] run::RunPosition resume(const comm::Communicator& comm,
                                          train::Trainer& trainer) const;
    /// What a run ends with, besides its result.
    struct Finish {
        const train::RunFacts& facts;
        run::RunRecorder* recorder;       ///< null: nobody records
        train::CheckpointKeeper* keeper;  ///< null: nothing is kept
        const partition::PartitionedDataset& data;
        const RankTally& tally;
    };
    void finish(const train::TrainResult& result, const Finish& end, const Context& context) const;
    [[nodiscard]] std::optional<report::Finding> limit_of(const train::Summary& summary,
                                                          const Finish& end) const;
    [[nodiscard]] run::RunFolder make_folder(const run::RunPosition& start,
                                             const Context& context) const;
    [[nodiscard]] const train::TrainOptions& options() const noexcept { return settings_.train; }
    [[nodiscard]] const std::string& out() const noexcept { return settings_.out; }

    CLI::App* app_ = nullptr;
    TrainSettings settings_;
    train::CheckpointRhythm interval_;
};

void TrainVerb::define(CLI::App& app) {
    using Group = train::OptionGroup;
    app_ = &app;
    offer_folders(*app.add_option("PATH", settings_.data, "Partitioned data set")->required());
    define_preset(app);
    bind_train(app,
               {Group::model, Group::task, Group::sampling, Group::training, Group::seed,
                Group::evaluation, Group::policy, Group::buffer, Group::agent, Group::storage,
                Group::limits, Group::device, Group::steering, Group::guard, Group::slowness,
                Group::llm_model, Group::llm},
               settings_.train);
    bind_ranks(app, settings_.ranks);
    bind_run(app,
             {RunGroup::plan, RunGroup::output, RunGroup::checkpoints, RunGroup::trace,
              RunGroup::profile, RunGroup::metrics},
             settings_);
    bind_train(app, {Group::profile}, settings_.train);
}

/// Without a policy, a window or an agent the default agent steers; a policy that is named stays.
void TrainVerb::settle() {
    if (!given(*app_, "--agent")) {
        const bool fixed = given(*app_, "--policy") || given(*app_, "--window");
        settings_.train.steer.agent = fixed ? "never" : std::string(train::default_agent);
        app_->get_option("--agent")->default_str(settings_.train.steer.agent);
    }
    if (const std::string parts = run::passed_parts(); !parts.empty()) settings_.data = parts;
    cli::settle(settings_, *app_);
    interval_ = train::CheckpointRhythm::parse(settings_.checkpoint_every);
}

/// A data set that has no parts: with --ranks it gets them here, once.
void TrainVerb::divide(const Context& context) {
    const std::string whole = settings_.data;
    if (!run::is_launched_rank()) run::pass_parts_on("");
    if (!run::is_whole_dataset(whole)) return;
    const int ranks = settings_.ranks.ranks;
    if (ranks == 0) {
        throw input_error(
            "the data set is not partitioned", whole,
            fmt::format("run 'rudder partition {0} {0}-parts --parts 4', then train on {0}-parts; "
                        "or give --ranks N, and it is divided into N parts here",
                        whole));
    }
    settings_.data =
        run::find_parts(whole, static_cast<PartId>(ranks), "training on", *context.progress)
            .string();
}

int TrainVerb::run(const Context& context) {
    if (!out().empty() && !settings_.plan && !settings_.resume)
        run::RunFolder::check(out(), settings_.existing());
    divide(context);
    const partition::PartitionedDataset data(settings_.data);
    if (settings_.resume && !run::is_rank() && already_done(context)) return 0;
    run::RankOptions& ranks = settings_.ranks;
    ranks.arguments = context.arguments;
    ranks.arguments_again = resuming(context.arguments);
    ranks.parts = data.parts();
    ranks.after_interrupt = [this] { return after_interrupt(); };
    if (ranks.ranks > 0) {
        partition::check_ranks(ranks.ranks, data.parts());
        pass_terminal_on();
    }
    const comm::Fingerprint fingerprint{{"command", context.provenance.made_by},
                                        {"data", train::data_checksum(data)}};
    return context.run_ranks(ranks, fingerprint,
                             [&](const comm::Communicator& comm) { return train(comm, context); });
}

int TrainVerb::train(const comm::Communicator& comm, const Context& context) {
    run::share_cores(comm, context.threads);
    const partition::PartitionedDataset data(settings_.data);
    if (settings_.plan) {
        show_plan(train::Trainer(comm, data, options()).plan(), comm, context);
        return 0;
    }
    const train::FittedTrainer fitted = train::make_fitting_trainer(comm, data, options());
    if (options().memory != 0) check_memory(fitted.plan);
    if (!fitted.given_up.empty() && comm.rank() == 0) {
        log::warning(fmt::format("to stay within --memory {}: {}", format_bytes(options().memory),
                                 fitted.given_up));
    }
    settings_.train = fitted.options;
    return train_recorded(comm, data, *fitted.trainer, context);
}

void TrainVerb::check_memory(const train::TrainPlan& plan) const {
    if (plan.needed_bytes() <= options().memory) return;
    throw usage_error(fmt::format("the run needs about {}, more than the limit of {}: {}",
                                  format_bytes(plan.needed_bytes()), format_bytes(options().memory),
                                  plan_items(plan)),
                      "--memory",
                      "see --plan; lower --window, --in-flight, --batch or --fanout, or "
                      "choose --topology partitioned");
}

void TrainVerb::show_plan(const train::TrainPlan& plan, const comm::Communicator& comm,
                          const Context& context) const {
    if (comm.rank() != 0) return;
    context.json ? context.answer(plan_json(plan, comm.size()))
                 : print_text(plan_text(plan, comm.size()));
}

int TrainVerb::train_recorded(const comm::Communicator& comm,
                              const partition::PartitionedDataset& data, train::Trainer& trainer,
                              const Context& context) const {
    const bool first = comm.rank() == 0;
    const bool kept = !out().empty();
    run::RunPosition start;
    if (settings_.resume) start = resume(comm, trainer);
    if (first) warn_of_idle_agent(options());
    const train::RunFacts facts = run_facts_of(comm, data, settings_);
    if (first && !context.json && !context.quiet) {
        print_below_view(opening_lines(settings_, facts, trainer.steps_per_epoch()),
                         live_terminal());
    }
    run::TrainObservers observers;
    run::ProfileFile profile(out());
    std::optional<run::RunRecorder> recorder;
    std::optional<train::CheckpointKeeper> keeper;
    RankTally tally(comm.size());
    const Json card = run::run_facts(comm, data, settings_.data, options(), settings_.ranks,
                                     {trainer.steps_per_epoch(), trainer.policy().text()});
    if (first && (kept || settings_.sinks.port)) {
        std::optional<run::RunFolder> folder;
        if (kept) folder = make_folder(start, context);
        recorder.emplace(std::move(folder), card, settings_.sinks, start, facts.regression);
        observers.add(*recorder);
    }
    if (first) observers.add(tally);
    if (first && kept) {
        observers.add(profile);
        keeper.emplace(out());
        if (settings_.resume) train::settle_best(out(), start.step, start.best_step);
    }
    TrainView view({.live = first && !context.quiet && live_terminal(),
                    .lines = first && !context.json,
                    .plan = run_plan(options(), comm)});
    observers.add(view);
    if (first && context.observer != nullptr) observers.add(*context.observer);
    train::CheckpointPlan checkpoints;
    checkpoints.wanted = kept;
    checkpoints.every_epochs = interval_.epochs;
    checkpoints.every_seconds = interval_.seconds;
    checkpoints.keeper = keeper ? &*keeper : nullptr;
    checkpoints.data = std::filesystem::absolute(settings_.data).lexically_normal().string();
    checkpoints.data_checksum = train::data_checksum(data);
    run::RunRecorder* const records = recorder ? &*recorder : nullptr;
    const train::TrainResult result =
        run::recorded(records, [&] { return trainer.run(observers, checkpoints); });
    const Finish end{facts, records, keeper ? &*keeper : nullptr, data, tally};
    if (first) run::recorded(records, [&] { finish(result, end, context); });
    if (!result.interrupted) return 0;
    if (first) {
        log::warning(fmt::format("interrupted after step {} of {}{}", format_count(result.steps),
                                 format_count(result.steps_per_epoch * options().epochs),
                                 kept ? "; continue with --resume" : ""));
    }
    return static_cast<int>(ErrorKind::interrupted);
}

/// The folder of the run, new or as it was at `start`.
run::RunFolder TrainVerb::make_folder(const run::RunPosition& start, const Context& context) const {
    const std::string& config = context.provenance.config;
    if (settings_.resume)
        return run::RunFolder::reopen(out(), config, start.step, start.open_decisions);
    return {out(), settings_.existing(), config};
}

/// What an interrupt has left to go on from.
std::string TrainVerb::after_interrupt() const {
    std::error_code code;
    if (out().empty() || !std::filesystem::exists(out(), code))
        return "nothing was left behind; start again";
    const auto all = train::list_checkpoints(out());
    if (all.empty()) return "no checkpoint had been written; start again with --resume";
    return fmt::format("continue with --resume, from {}", all.back().string());
}

/// The command line with which the run goes on.
std::vector<std::string> TrainVerb::resuming(std::vector<std::string> arguments) const {
    if (settings_.resume) return arguments;
    std::erase(arguments, "--force");
    if (settings_.force) arguments.emplace_back("--force=false");  // a configuration may have it
    arguments.emplace_back("--resume");
    return arguments;
}

/// A run that has finished and is to be resumed: prints its summary.
bool TrainVerb::already_done(const Context& context) const {
    const auto text = run::RunFolder::finished(out());
    if (!text) return false;
    const Json summary =
        parse_json(*text, (std::filesystem::path(out()) / "summary.json").string());
    const bool longer = json_u64(summary, "epochs", out()) < options().epochs &&
                        !json_bool(summary, "stopped_early", out());
    // One whose last checkpoint could not be written goes on from the one before.
    const Json kept = summary.value("checkpoints", Json());
    const bool lost = kept.is_object() && kept.value("last", Json()) != summary.at("steps");
    if (longer || lost) return false;
    if (context.json) {
        context.answer(summary);
    } else if (!context.quiet) {
        print_text("the run has finished:\n" + finished_text(summary, out()));
    }
    return true;
}

/// Rank 0 reads the last checkpoint, if there is one; all ranks resume from it.
run::RunPosition TrainVerb::resume(const comm::Communicator& comm, train::Trainer& trainer) const {
    std::optional<train::Checkpoint> checkpoint;
    comm::do_together(comm, [&] {
        if (comm.rank() != 0) return;
        const auto all = train::list_checkpoints(out());
        if (all.empty()) return;
        checkpoint = train::read_checkpoint(all.back());
        const partition::PartitionedDataset data(settings_.data);
        train::check_same_run(
            checkpoint->identity,
            {trainer.network_options(), options(), settings_.data, train::data_checksum(data)},
            all.back().string());
    });
    std::uint8_t found = checkpoint ? 1 : 0;
    comm.broadcast(0, std::span(&found, 1));
    if (found == 0) return {};
    trainer.resume(checkpoint ? &*checkpoint : nullptr);
    if (!checkpoint) return {};
    log::info(fmt::format("resuming after step {}", checkpoint->state.step));
    const auto best = train::best_step(checkpoint->state);
    auto& epochs = checkpoint->state.epochs;
    // One whose evaluation was under way is evaluated again, and reported then.
    if (!epochs.empty() && !epochs.back().scores.evaluated &&
        train::evaluation_due(options(), epochs)) {
        epochs.pop_back();
    }
    return {checkpoint->state.step, checkpoint->state.metrics_bytes, epochs, best,
            checkpoint->open_decisions};
}

/// What limits the run most, as `explain` would find it.
std::optional<report::Finding> TrainVerb::limit_of(const train::Summary& summary,
                                                   const Finish& end) const {
    const double balance = end.data.summary().train_balance;
    std::optional<double> seeds;
    if (options().task == train::TaskKind::vertex) {
        seeds = balance * static_cast<double>(end.data.info().split.train) /
                static_cast<double>(end.data.parts());
    }
    const auto findings = report::findings_of(
        report::explained_run(report::EndedRun{.name = out(),
                                               .summary = summary,
                                               .options = options(),
                                               .by_rank = end.tally.by_rank(),
                                               .ranks_per_host = settings_.ranks.ranks_per_host,
                                               .cores = usable_cores(),
                                               .train_balance = balance,
                                               .seeds = seeds,
                                               .profile = report::profile_of_run(out())}));
    if (findings.empty()) return std::nullopt;
    return findings.front();
}

void TrainVerb::finish(const train::TrainResult& result, const Finish& end,
                       const Context& context) const {
    run::RunRecorder* const recorder = end.recorder;
    const train::Summary known = train::summary_of(result, options(), end.facts);
    Json summary = to_json(known);
    summary["checkpoints"] = Json();
    if (end.keeper != nullptr)
        summary["checkpoints"] = checkpoints_json(end.keeper->report(), result);
    summary["sinks"] = recorder != nullptr ? recorder->close(result.cpu_seconds) : run::no_sinks();
    // The summary is shown even where the disk is full.
    std::exception_ptr unwritten;
    try {
        if (recorder != nullptr)
            result.interrupted ? recorder->interrupt() : recorder->finish(summary);
    } catch (const Error&) {
        unwritten = std::current_exception();
    }
    if (context.json) {
        Screen::clear();
        context.answer(summary);
    } else if (!context.quiet) {
        const std::size_t columns = output_on_terminal() ? screen_look().columns : 0;
        const auto limit = limit_of(known, end);
        print_below_view(summary_text(known, limit, out(), columns), live_terminal());
    }
    if (unwritten != nullptr) std::rethrow_exception(unwritten);
    if (!result.interrupted) expect_complete(summary["checkpoints"], out());
}

}  // namespace

std::unique_ptr<Verb> make_train_verb() {
    return std::make_unique<TrainVerb>();
}

}  // namespace rudder::cli
