// rudder train PATH
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/common_options.hpp"
#include "cli/describe.hpp"
#include "cli/summary_text.hpp"
#include "cli/train_view.hpp"
#include "cli/verb.hpp"
#include "comm/together.hpp"
#include "core/build_parts.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/system.hpp"
#include "report/prometheus_sink.hpp"
#include "rudder/comm/mpi_transport.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"
#include "rudder/run/ranks.hpp"
#include "rudder/train/trainer.hpp"
#include "run/profile_file.hpp"
#include "run/run_card.hpp"
#include "run/run_folder.hpp"
#include "run/run_recorder.hpp"
#include "run/train_observers.hpp"
#include "train/checkpoints/checkpoint_keeper.hpp"
#include "train/prediction/inference.hpp"
#include "train/summary.hpp"

#include "train_settings.hpp"

namespace rudder::cli {

namespace {

std::vector<std::int32_t> parse_fanout(const std::string& text) {
    std::vector<std::int32_t> fanout;
    for (const std::string_view word : split(text, ',')) {
        const bool all = word == "-1";
        const auto number = parse_u64(word);
        if (!all && (!number || *number == 0 || *number > 1'000'000)) {
            throw usage_error(fmt::format("'{}' is no fan-out", word), "--fanout",
                              "give one number per layer, input side first, such as 10,25; -1 "
                              "takes all neighbours");
        }
        fanout.push_back(all ? -1 : static_cast<std::int32_t>(*number));
    }
    return fanout;
}

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
              {"queue", plan.queue_bytes},
              {"evaluation", plan.evaluation_bytes},
              {"needed", plan.needed_bytes()},
              {"available", plan.memory_bytes}}},
            {"epoch",
             {{"rows", plan.rows},
              {"remote_rows", plan.remote_rows},
              {"feature_bytes", plan.feature_bytes},
              {"gradient_bytes", plan.gradient_bytes}}}};
}

/// The table of a run that had finished before; a summary of another version may lack keys.
std::string finished_text(const Json& summary, const std::string& folder) {
    try {
        return summary_text(train::summary_from_json(summary, folder), {}, folder);
    } catch (const Error&) {
        return summary.dump(2) + "\n";
    }
}

class TrainVerb final : public TrainSettings {
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
    int run(const Context& context) override;
    const train::TrainOptions& settle() override {
        resolve(*app_);
        return options_;
    }
    run::RankOptions& ranks() override { return ranks_; }
    const std::string& data() const override { return data_; }
    const std::string& out() const override { return out_; }
    Existing existing() const override { return force_ ? Existing::replace : Existing::refuse; }
    const run::SinkSettings& sinks() const override { return sinks_; }

private:
    void define_further(CLI::App& app);
    void resolve(const CLI::App& app);
    void resolve_buffer();
    void resolve_profile();
    void resolve_agent(const CLI::App& app);
    int train(const comm::Communicator& comm, const Context& context);
    [[nodiscard]] bool already_done(const Context& context) const;
    [[nodiscard]] run::RunPosition resume(const comm::Communicator& comm,
                                          train::Trainer& trainer) const;
    void finish(const train::TrainResult& result, const train::RunFacts& facts,
                run::RunRecorder* recorder, const partition::PartitionedDataset& data,
                const Context& context) const;
    [[nodiscard]] RunSigns signs(const partition::PartitionedDataset& data) const;
    [[nodiscard]] run::RunFolder make_folder(const run::RunPosition& start,
                                             const Context& context) const;

    CLI::App* app_ = nullptr;
    train::TrainOptions options_;
    run::RankOptions ranks_;
    std::string data_;
    std::string out_;
    std::string fanout_;
    std::string precision_ = "native";
    std::string topology_ = "auto";
    std::string seed_order_ = "random";
    std::string shards_ = "mapped";
    std::string memory_;
    run::SinkSettings sinks_;
    bool no_tensorboard_ = false;
    std::optional<double> buffer_;
    std::string buffer_bytes_;
    std::string buffer_scope_ = "host";
    std::string agent_;
    std::string agent_mode_ = "async";
    std::string agent_scope_ = "host";
    std::string llm_api_ = "auto";
    bool trace_ = false;
    bool profile_ = false;
    bool plan_ = false;
    bool force_ = false;
    bool resume_ = false;
    bool trust_ = false;
    std::string checkpoint_every_ = "1";
    train::CheckpointRhythm rhythm_;
};

void TrainVerb::define(CLI::App& app) {
    app_ = &app;
    train::TrainOptions& o = options_;
    app.add_option("PATH", data_, "Partitioned data set")->required();
    app.add_option("--model", o.model, "The network: sage, gcn, gat or gatv2")
        ->capture_default_str();
    app.add_option("--layers", o.layers, "Its layers")->capture_default_str();
    app.add_option("--hidden", o.hidden, "Columns of hidden layers")->capture_default_str();
    app.add_option("--fanout", fanout_,
                   "Neighbours drawn per layer, input side first (10,25); -1: all");
    app.add_option("--batch", o.batch, "Seeds per part and step")->capture_default_str();
    app.add_option("--epochs", o.epochs, "Passes over the training vertices")
        ->capture_default_str();
    app.add_option("--lr", o.optimiser.learning_rate, "Learning rate")->capture_default_str();
    app.add_option("--dropout", o.dropout, "Share dropped in hidden layers")->capture_default_str();
    app.add_option("--seed", o.seed, "The same seed gives the same run, bit for bit")
        ->capture_default_str();
    app.add_option("--policy", o.policy, "Which remote rows are kept; see replay --policies")
        ->capture_default_str();
    app.add_option("--window", o.window, "Steps looked ahead, as in window:16");
    app.add_option("--buffer", buffer_, "Rows kept, as a fraction of the halo (0.25)");
    app.add_option("--agent", agent_, "Who steers; see agent list");
    app.add_option("--precision", precision_, "Of feature rows: native, float32, bfloat16")
        ->capture_default_str();
    app.add_option("--topology", topology_, "auto, replicated or partitioned")
        ->capture_default_str();
    app.add_option("--seed-order", seed_order_, "random or clustered")->capture_default_str();
    define_ranks(ranks_, app);
    app.add_flag("--plan", plan_, "Print the memory and traffic to expect, and stop");
    app.add_option("--out", out_, "Folder of the run; without it nothing is kept");
    app.add_flag("--force", force_, "Replace an existing output");
    app.add_flag("--resume", resume_, "Go on in --out from its last checkpoint");
    app.add_flag("--trace", trace_, "Record what steps need in trace/ of the run's folder");
    app.add_flag("--profile", profile_, "Record an epoch's spans in profile.json of that folder");
    define_further(app);
}

/// Those that few need: shown by --help-all.
void TrainVerb::define_further(CLI::App& app) {
    train::TrainOptions& o = options_;
    const auto further = [](CLI::Option* option) { option->group(std::string(further_options)); };
    further(app.add_option("--heads", o.heads, "Heads of gat and gatv2, which share the columns")
                ->capture_default_str());
    further(app.add_option("--norm", o.norm, "Of hidden layers: none, batch or layer")
                ->capture_default_str());
    further(app.add_flag("--residual", o.residual, "Hidden layers add their input"));
    further(app.add_option("--class-weights", o.class_weights,
                           "none, or balanced: rare classes count more")
                ->capture_default_str());
    further(app.add_option("--input-dropout", o.input_dropout, "Share dropped of the input")
                ->capture_default_str());
    further(app.add_option("--optimizer", o.optimiser.name, "adam, adamw or sgd")
                ->capture_default_str());
    further(app.add_option("--lr-schedule", o.lr_schedule,
                           "constant, cosine, linear or step:EPOCHS,FACTOR")
                ->capture_default_str());
    further(app.add_option("--warmup", o.warmup, "Steps until the full learning rate")
                ->capture_default_str());
    further(app.add_option("--clip", o.optimiser.clip, "Largest norm of the gradient; 0: any")
                ->capture_default_str());
    further(app.add_option("--momentum", o.optimiser.momentum, "Of sgd")->capture_default_str());
    further(
        app.add_flag("--with-replacement", o.with_replacement, "Draw a neighbour more than once"));
    further(app.add_option("--sample-tasks", o.sample_tasks, "Tasks that sample side by side")
                ->capture_default_str());
    further(
        app.add_option("--bulk", o.bulk, "Most rows per message between ranks; 0: about 256 KiB")
            ->type_name("ROWS")
            ->capture_default_str());
    further(app.add_option("--shards", shards_, "Feature rows of the host: mapped or shared")
                ->capture_default_str());
    further(app.add_option("--eval", o.eval, "exact (all neighbours) or sampled")
                ->capture_default_str());
    further(app.add_option("--checkpoint-every", checkpoint_every_,
                           "Epochs, or seconds (300s); 0: only the last")
                ->capture_default_str());
    further(app.add_option("--patience", o.patience,
                           "Evaluations without a better one until it stops; 0: any")
                ->capture_default_str());
    further(app.add_option("--weight-decay", o.optimiser.weight_decay, "Pull of weights to 0")
                ->capture_default_str());
    further(app.add_option("--eval-every", o.eval_every, "Epochs between evaluations; 0: none")
                ->capture_default_str());
    further(app.add_option("--profile-epoch", options_.profile_epoch,
                           "The epoch of --profile (the second, or the only one)")
                ->type_name("N"));
    further(app.add_option("--in-flight", o.in_flight, "Steps whose rows are in memory at once")
                ->capture_default_str());
    further(app.add_option("--memory", memory_, "Bytes a host may use, such as 8GiB"));
    further(app.add_option("--buffer-rows", o.buffer_rows, "Rows kept, instead of --buffer"));
    further(app.add_option("--buffer-bytes", buffer_bytes_, "The same in bytes, such as 500MB"));
    further(app.add_option("--buffer-scope", buffer_scope_, "Who shares a buffer: host or rank")
                ->capture_default_str());
    further(app.add_option("--agent-mode", agent_mode_,
                           "async, or sync: steps wait for the agent's answer")
                ->capture_default_str());
    further(app.add_option("--agent-scope", agent_scope_,
                           "Whose buffers an agent steers: rank, host or job")
                ->capture_default_str());
    further(app.add_option("--agent-deadline", o.steer.deadline,
                           "Seconds after which an answer is dropped")
                ->capture_default_str());
    further(app.add_option("--llm-url", o.steer.llm.url,
                           "Server of agent llm (Ollama on this machine)"));
    further(app.add_option("--llm-model", o.steer.llm.model, "Its model (the server's first)"));
    further(app.add_option("--llm-api", llm_api_, "What it speaks: auto, openai or ollama")
                ->capture_default_str());
    further(app.add_flag("--llm-insecure", o.steer.llm.insecure,
                         "Reach a server on another machine without TLS"));
    CLI::Range ports(0, 65535);
    ports.description("");
    further(app.add_option("--metrics-port", sinks_.port,
                           "Serve metrics to Prometheus here; 0: any free port")
                ->check(ports)
                ->type_name("PORT"));
    further(app.add_option("--metrics-address", sinks_.address, "Who may fetch them: the address")
                ->capture_default_str());
    further(app.add_flag("--no-tensorboard", no_tensorboard_, "Write no events for TensorBoard"));
    further(app.add_flag("--trust-data", trust_, "Skip the checksums of the parts"));
    for (const char* name : {"--ranks-per-host", "--paranoid", "--stuck-after"})
        further(app.get_option(name));
}

void TrainVerb::resolve(const CLI::App& app) {
    train::TrainOptions& o = options_;
    if (fanout_.empty()) {
        if (o.layers >= 1 && o.layers <= 64) o.fanout = train::default_fanout(o.layers);
    } else {
        o.fanout = parse_fanout(fanout_);
        if (app.get_option("--layers")->count() == 0) o.layers = static_cast<int>(o.fanout.size());
    }
    o.precision = store::precision(precision_);
    o.topology = train::topology_choice(topology_);
    o.seed_order = sample::seed_order(seed_order_);
    o.shards = store::shards(shards_);
    o.verify = !trust_;
    rhythm_ = train::CheckpointRhythm::parse(checkpoint_every_);
    if (resume_ && out_.empty()) {
        throw usage_error("nothing to go on with", "--resume", "give the run's folder with --out");
    }
    if (resume_ && force_) {
        throw usage_error("--resume goes on with a run, --force replaces it", "--resume",
                          "give one of them");
    }
    if (!memory_.empty()) {
        const auto bytes = parse_bytes(memory_);
        if (!bytes || *bytes == 0) {
            throw usage_error(fmt::format("'{}' is no amount of memory", memory_), "--memory",
                              "give a number of bytes, such as 8GiB or 500m");
        }
        o.memory = *bytes;
    }
    sinks_.tensorboard = !no_tensorboard_;
    report::check_address(sinks_.address);
    if (sinks_.port) require_part("libmicrohttpd", "--metrics-port");
    resolve_buffer();
    resolve_profile();
    resolve_agent(app);
    check_options(o);
}

/// Whoever says nothing about what to keep gets the default agent; whoever names a policy means it.
void TrainVerb::resolve_agent(const CLI::App& app) {
    train::SteerOptions& steer = options_.steer;
    const auto* policy = app.get_option_no_throw("--policy");
    const bool fixed = policy == nullptr || policy->count() > 0 || options_.window.has_value();
    steer.agent = !agent_.empty() ? agent_ : fixed ? "never" : std::string(train::default_agent);
    steer.mode = steer::agent_mode(agent_mode_);
    steer.scope = steer::agent_scope(agent_scope_);
    steer.link = !ranks_.link.empty();
    steer.force = force_;
    steer.llm.api = steer::llm_api(llm_api_);
}

void TrainVerb::resolve_buffer() {
    options_.buffer_scope = buffer::buffer_scope(buffer_scope_);
    if (!buffer_bytes_.empty()) {
        options_.buffer_bytes = parse_bytes(buffer_bytes_);
        if (!options_.buffer_bytes) {
            throw usage_error(fmt::format("'{}' is no amount of memory", buffer_bytes_),
                              "--buffer-bytes", "give a number of bytes, such as 500MB or 2GiB");
        }
    }
    if (buffer_) options_.buffer = *buffer_;
    if (buffer_ && (options_.buffer_rows || options_.buffer_bytes)) {
        throw usage_error("two sizes of the buffer", "--buffer",
                          "give one of --buffer, --buffer-rows and --buffer-bytes");
    }
    if (!trace_) return;  // as in verbs without it
    if (out_.empty()) {
        throw usage_error("a trace needs a folder to be in", "--trace", "give the run's --out");
    }
    options_.trace = std::filesystem::path(out_) / "trace";
}

void TrainVerb::resolve_profile() {
    options_.profile = profile_ || options_.profile_epoch != 0;
    if (options_.profile && out_.empty()) {
        throw usage_error("a profile needs a folder to be in", "--profile", "give the run's --out");
    }
}

int TrainVerb::run(const Context& context) {
    resolve(*app_);
    if (!out_.empty() && !plan_ && !resume_) run::RunFolder::check(out_, existing());
    const partition::PartitionedDataset data(data_);
    if (resume_ && !comm::MpiSession::launched() && already_done(context)) return 0;
    ranks_.arguments = context.arguments;
    ranks_.parts = data.parts();
    if (ranks_.ranks > 0) {
        partition::check_ranks(ranks_.ranks, data.parts());
        pass_terminal_on();
    }
    const comm::Fingerprint fingerprint{{"command", context.provenance.made_by},
                                        {"data", train::data_checksum(data)}};
    return run::run_ranked(ranks_, fingerprint,
                           [&](const comm::Communicator& comm) { return train(comm, context); });
}

int TrainVerb::train(const comm::Communicator& comm, const Context& context) {
    run::share_cores(comm, context.threads);
    const partition::PartitionedDataset data(data_);
    train::Trainer trainer(comm, data, options_);
    const bool first = comm.rank() == 0;
    if (plan_ || options_.memory != 0) {
        const train::TrainPlan plan = trainer.plan();
        if (!plan_ && plan.needed_bytes() > options_.memory) {
            throw usage_error(fmt::format("the run needs about {}, more than the {} it may use",
                                          format_bytes(plan.needed_bytes()), memory_),
                              "--memory",
                              "see --plan; lower --window, --in-flight, --batch or --fanout, or "
                              "choose --topology partitioned");
        }
        if (plan_) {
            if (first && context.json) print_json(plan_json(plan, comm.size()));
            if (first && !context.json) print_text(plan_text(plan, comm.size()));
            return 0;
        }
    }
    run::RunPosition start;
    if (resume_) start = resume(comm, trainer);
    if (const auto advice =
            train::agent_advice(train::agent_of(options_), train::policy_of(options_));
        first && !advice.empty()) {
        log::warning(advice);
    }
    const train::RunFacts facts{
        .ranks = comm.size(),
        .hosts = comm.hosts().hosts(),
        .parts = data.parts(),
        .data = data_,
        .link = ranks_.link,
        .threads = thread_count(),
        .regression = data.info().targets.kind == graph::TargetKind::regression};
    run::TrainObservers observers;
    run::ProfileFile profile(out_);
    std::optional<run::RunRecorder> recorder;
    std::optional<train::CheckpointKeeper> keeper;
    if (first && (!out_.empty() || sinks_.port)) {
        std::optional<run::RunFolder> folder;
        if (!out_.empty()) folder = make_folder(start, context);
        recorder.emplace(
            std::move(folder),
            run::run_facts(comm, data, data_, options_, ranks_, trainer.steps_per_epoch()), sinks_,
            start, facts.regression);
        observers.add(*recorder);
    }
    if (first && !out_.empty()) {
        observers.add(profile);
        keeper.emplace(out_);
    }
    TrainView view({.live = first && !context.quiet && live_terminal(),
                    .lines = first && !context.json,
                    .title = "",
                    .epochs = options_.epochs,
                    .ranks = comm.size()});
    observers.add(view);
    train::CheckpointPlan checkpoints;
    checkpoints.wanted = !out_.empty();
    checkpoints.every_epochs = rhythm_.epochs;
    checkpoints.every_seconds = rhythm_.seconds;
    checkpoints.keeper = keeper ? &*keeper : nullptr;
    checkpoints.data = data_;
    checkpoints.data_checksum = train::data_checksum(data);
    run::RunRecorder* const records = recorder ? &*recorder : nullptr;
    const train::TrainResult result =
        run::recorded(records, [&] { return trainer.run(observers, checkpoints); });
    if (first) run::recorded(records, [&] { finish(result, facts, records, data, context); });
    if (!result.interrupted) return 0;
    if (first) {
        log::warning(fmt::format("interrupted after step {} of {}{}", result.steps,
                                 result.steps_per_epoch * options_.epochs,
                                 out_.empty() ? "" : "; --resume goes on"));
    }
    return static_cast<int>(ErrorKind::interrupted);
}

/// The folder of the run, new or as it was at `start`.
run::RunFolder TrainVerb::make_folder(const run::RunPosition& start, const Context& context) const {
    const std::string& config = context.provenance.config;
    if (resume_) return run::RunFolder::reopen(out_, config, start.step);
    return {out_, existing(), config};
}

/// A run that has finished and is to go on: prints its summary.
bool TrainVerb::already_done(const Context& context) const {
    const auto text = run::RunFolder::finished(out_);
    if (!text) return false;
    const Json summary = parse_json(*text, (std::filesystem::path(out_) / "summary.json").string());
    const bool longer = json_u64(summary, "epochs", out_) < options_.epochs &&
                        !json_bool(summary, "stopped_early", out_);
    if (longer) return false;
    if (context.json) {
        print_json(summary);
    } else if (!context.quiet) {
        print_text("the run has finished:\n" + finished_text(summary, out_));
    }
    return true;
}

/// Rank 0 reads the last checkpoint, if there is one; all ranks go on from it.
run::RunPosition TrainVerb::resume(const comm::Communicator& comm, train::Trainer& trainer) const {
    std::optional<train::Checkpoint> checkpoint;
    comm::do_together(comm, [&] {
        if (comm.rank() != 0) return;
        const auto all = train::list_checkpoints(out_);
        if (all.empty()) return;
        checkpoint = train::read_checkpoint(all.back());
        const partition::PartitionedDataset data(data_);
        train::check_same_run(
            checkpoint->identity,
            {trainer.network_options(), options_, data_, train::data_checksum(data)},
            all.back().string());
    });
    std::uint8_t found = checkpoint ? 1 : 0;
    comm.broadcast(0, std::span(&found, 1));
    if (found == 0) return {};
    trainer.resume(checkpoint ? &*checkpoint : nullptr);
    if (!checkpoint) return {};
    log::info(fmt::format("going on after step {}", checkpoint->state.step));
    auto& epochs = checkpoint->state.epochs;
    // One whose evaluation was under way is evaluated again, and told of then.
    if (!epochs.empty() && evaluation_due(options_, epochs.back().epoch) &&
        !epochs.back().scores.evaluated) {
        epochs.pop_back();
    }
    return {checkpoint->state.step, checkpoint->state.metrics_bytes, epochs};
}

/// What the summary does not tell of the run, for advice.
RunSigns TrainVerb::signs(const partition::PartitionedDataset& data) const {
    RunSigns signs;
    const bool by_halo = !options_.buffer_rows && !options_.buffer_bytes;
    signs.buffer = by_halo ? options_.buffer : 0;
    signs.window =
        train::window_adapts(options_) || steered(options_) ? 0 : train::steps_ahead(options_);
    signs.float_rows = options_.precision != store::Precision::bfloat16 &&
                       (options_.precision == store::Precision::float32 ||
                        data.info().features.type == ElementType::f32);
    signs.cut = data.summary().cut;
    signs.method = data.summary().method;
    signs.cores = usable_cores();
    signs.batch = options_.batch;
    signs.dropout = options_.dropout;
    return signs;
}

void TrainVerb::finish(const train::TrainResult& result, const train::RunFacts& facts,
                       run::RunRecorder* recorder, const partition::PartitionedDataset& data,
                       const Context& context) const {
    const train::Summary known = train::summary_of(result, options_, facts);
    Json summary = to_json(known);
    summary["sinks"] = recorder != nullptr ? recorder->close(result.cpu_seconds) : run::no_sinks();
    // What a full disk refuses is shown all the same.
    std::exception_ptr unwritten;
    try {
        if (recorder != nullptr)
            result.interrupted ? recorder->interrupt() : recorder->finish(summary);
    } catch (const Error&) {
        unwritten = std::current_exception();
    }
    if (context.json) {
        Screen::clear();
        print_json(summary);
    } else if (!context.quiet) {
        const std::size_t columns = output_on_terminal() ? screen_look().columns : 0;
        print_below_view(summary_text(known, signs(data), out_, columns), live_terminal());
    }
    if (unwritten != nullptr) std::rethrow_exception(unwritten);
}

}  // namespace

std::unique_ptr<TrainSettings> make_train_settings() {
    return std::make_unique<TrainVerb>();
}

std::unique_ptr<Verb> make_train_verb() {
    return std::make_unique<TrainVerb>();
}

}  // namespace rudder::cli
