#include "train_settings.hpp"

#include <array>

#include <fmt/format.h>

#include "core/build_parts.hpp"
#include "core/log.hpp"
#include "report/prometheus_sink.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/graph/array_folder.hpp"
#include "train/default_batch.hpp"
#include "train/steps/seed_targets.hpp"

#include "bind_options.hpp"

namespace rudder::cli {

namespace {

using RunTable = std::vector<Setting<TrainSettings>>;

template <auto... Path>
Setting<TrainSettings> option(std::string_view name, std::string_view help,
                              Marks marks = Marks::none) {
    return setting<TrainSettings, Path...>(name, help, marks);
}

constexpr double most_restarts = 1000;

const std::array<RunTable, 6>& run_tables() {
    using S = TrainSettings;
    using Sinks = decltype(S::sinks);
    static const std::array<RunTable, 6> all{
        RunTable{
            option<&S::out>("out", "Folder of the run; without it nothing is kept").offering([] {
                return std::vector{any_folder};
            }),
            option<&S::force>("force", "Replace an existing output")},
        RunTable{option<&S::plan>("plan", "Print the expected memory and traffic, and exit")},
        RunTable{option<&S::resume>("resume", "Resume the run in --out from its last checkpoint"),
                 option<&S::checkpoint_every>(
                     "checkpoint-every",
                     "Checkpoint interval in epochs, or seconds (300s); 0 = only the last",
                     Marks::further),
                 option<&S::ranks, &run::RankOptions::restarts>(
                     "restarts", "Restart from the last checkpoint if a rank dies, up to N times",
                     Marks::further)
                     .limit(0, most_restarts)
                     .in("N")},
        RunTable{option<&S::trace>("trace", "Record the rows of every step in trace/ of --out")},
        RunTable{
            option<&S::profile>("profile", "Record an epoch's spans in profile.json of --out")},
        RunTable{option<&S::sinks, &Sinks::port>(
                     "metrics-port", "Port of the Prometheus metrics server (0 = any free port)",
                     Marks::further)
                     .in("PORT"),
                 option<&S::sinks, &Sinks::address>(
                     "metrics-address", "Address the metrics server listens on", Marks::further),
                 off_setting<S, &S::sinks, &Sinks::tensorboard>(
                     "no-tensorboard", "Do not write TensorBoard event files", Marks::further)}};
    return all;
}

void settle_outputs(TrainSettings& s) {
    const bool kept = !s.out.empty();
    if (s.resume && !kept)
        throw usage_error("--resume requires --out", "resume", "give the run's folder with --out");
    if (s.resume && s.force) {
        throw usage_error("--resume and --force cannot be combined", "resume", "give one of them");
    }
    if (s.ranks.restarts > 0 && !kept) {
        throw usage_error("--restarts requires --out", "restarts",
                          "give the run's folder with --out: checkpoints are kept there");
    }
    if (s.ranks.restarts > 0 && s.ranks.ranks == 0 && !run::is_launched_rank()) {
        throw usage_error("--restarts requires --ranks", "restarts",
                          "give --ranks; a launcher of your own has to start ranks again itself");
    }
    if (s.trace && !kept)
        throw usage_error("--trace requires --out", "trace", "give the run's folder with --out");
    if (s.trace) s.train.trace = std::filesystem::path(s.out) / "trace";
    s.train.profile = s.profile || s.train.profile_epoch != 0;
    if (s.train.profile && !kept) {
        throw usage_error("--profile requires --out", "profile",
                          "give the run's folder with --out");
    }
    report::check_address(s.sinks.address);
    if (s.sinks.port) require_part("libmicrohttpd", "--metrics-port");
}

}  // namespace

std::span<const Setting<TrainSettings>> options_of(RunGroup group) {
    return run_tables().at(static_cast<std::size_t>(group));
}

std::span<const Setting<run::RankOptions>> rank_options() {
    using O = run::RankOptions;
    constexpr double most_ranks = 4096;
    static const std::array table{
        setting<O, &O::ranks>("ranks", "Launch N ranks on this machine", Marks::derived)
            .limit(1, most_ranks)
            .in("N"),
        setting<O, &O::ranks_per_host>("ranks-per-host", "Number of ranks that count as one host",
                                       Marks::derived | Marks::further)
            .limit(1, most_ranks)
            .in("N"),
        setting<O, &O::link>(
            "link", "Simulated link between hosts, such as 100us,1gbit[;step:300:1ms,9mbit]")
            .in("DELAY,RATE"),
        setting<O, &O::transport>("transport", "Carrier of messages between ranks", Marks::further)
            .among({"auto", "mpi", "sockets"}),
        setting<O, &O::paranoid>("paranoid", "Check that all ranks agree before each collective",
                                 Marks::further),
        setting<O, &O::stuck_after>(
            "stuck-after", "Abort if a rank makes no progress for this long", Marks::further)
            .limit(0.1, 1e7)
            .in("SECONDS"),
        setting<O, &O::log_format>("log-format", "Format of messages (text = with time and rank)",
                                   Marks::further)
            .among({"plain", "text", "json"}),
    };
    return table;
}

void bind_train(CLI::App& app, std::initializer_list<train::OptionGroup> groups,
                train::TrainOptions& options, HelpListing shown) {
    for (const train::OptionGroup group : groups)
        bind_options(app, train::options_of(group), options, shown);
}

void bind_run(CLI::App& app, std::initializer_list<RunGroup> groups, TrainSettings& settings) {
    for (const RunGroup group : groups)
        bind_options(app, options_of(group), settings);
}

void bind_ranks(CLI::App& app, run::RankOptions& options, HelpListing shown) {
    bind_options(app, rank_options(), options, shown);
}

void offer_specs(CLI::App& app) {
    for (const auto group : {train::OptionGroup::policy, train::OptionGroup::agent}) {
        const SettingInfo& info = train::options_of(group).front();
        if (CLI::Option* option = app.get_option_no_throw(fmt::format("--{}", info.name)))
            offer(*option, info);
    }
}

namespace {

std::uint64_t batch_of(const train::TrainOptions& options,
                       const partition::PartitionedDataset& data) {
    switch (options.task) {
        case train::TaskKind::vertex:
            break;
        case train::TaskKind::link:
            return train::default_link_batch(data.info(), data.summary(),
                                             train::typed_links(data.info(), options));
        case train::TaskKind::edge:
            return train::default_edge_batch(data.info(), data.summary());
    }
    return train::default_batch(data.info(), data.summary());
}

/// The batch follows from the partition, where there is one to look at.
void settle_batch(TrainSettings& settings, CLI::App& app) {
    CLI::Option* const option = app.get_option_no_throw("--batch");
    if (option == nullptr || option->count() > 0 || settings.data.empty()) return;
    if (!graph::ArrayFolder::is(settings.data, partition::partition_format)) return;
    try {
        const partition::PartitionedDataset data(settings.data);
        settings.train.batch = batch_of(settings.train, data);
        settings.batch_chosen = true;
        option->default_str(std::to_string(settings.train.batch));
    } catch (const Error&) {
        // Whoever opens it says what is wrong.
    }
}

}  // namespace

void settle(TrainSettings& settings, CLI::App& app) {
    train::TrainOptions& o = settings.train;
    settle_batch(settings, app);
    if (!given(app, "--fanout")) {
        o.fanout = train::default_fanout(o.layers);
    } else if (!given(app, "--layers")) {
        o.layers = static_cast<int>(o.fanout.size());
    }
    o.sampler = train::sampler_of(o);
    // Found again from anywhere, by runs that go on and by evaluation.
    if (!o.links.negatives_from.empty()) {
        o.links.negatives_from =
            std::filesystem::absolute(o.links.negatives_from).lexically_normal().string();
    }
    if (given(app, "--buffer") && (o.buffer_rows || o.buffer_bytes)) {
        throw usage_error("more than one buffer size", "buffer",
                          "give one of --buffer, --buffer-rows and --buffer-bytes");
    }
    o.steer.link = !settings.ranks.link.empty();
    o.steer.force = settings.force;
    settle_outputs(settings);
    check_options(o);
}

train::RunFacts run_facts_of(const comm::Communicator& comm,
                             const partition::PartitionedDataset& data,
                             const TrainSettings& settings) {
    return {.ranks = comm.size(),
            .hosts = comm.hosts().hosts(),
            .parts = data.parts(),
            .data = settings.data,
            .link = settings.ranks.link,
            .threads = thread_count(),
            .regression = train::learned_targets(settings.train.task, data.info()).kind ==
                          graph::TargetKind::regression};
}

void warn_of_idle_agent(const train::TrainOptions& options) {
    const std::string advice =
        train::agent_advice(train::agent_of(options), train::policy_of(options));
    if (!advice.empty()) log::warning(advice);
}

}  // namespace rudder::cli
