// What the command line says of a run: its data, training, ranks and outputs.
#pragma once

#include <initializer_list>
#include <string>

#include <CLI/CLI.hpp>

#include "core/staging.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/run/ranks.hpp"
#include "rudder/train/options.hpp"
#include "run/run_recorder.hpp"
#include "train/option_table.hpp"
#include "train/summary.hpp"

#include "bind_options.hpp"

namespace rudder::cli {

/// A run as asked for.
struct TrainSettings {
    std::string data;  ///< the partitioned data set
    train::TrainOptions train;
    run::RankOptions ranks;
    run::SinkSettings sinks;
    std::string out;  ///< the run's folder; empty: nothing is kept
    bool force = false;
    bool plan = false;
    bool resume = false;
    bool trace = false;
    bool profile = false;
    bool batch_chosen = false;  ///< the batch follows from the partition: nobody gave one
    std::string checkpoint_every = "1";

    [[nodiscard]] Existing existing() const noexcept {
        return force ? Existing::replace : Existing::refuse;
    }
};

/// Options of a run that are not about training.
enum class RunGroup : std::uint8_t {
    output,       ///< --out, --force
    plan,         ///< --plan
    checkpoints,  ///< --resume, --checkpoint-every, --restarts
    trace,        ///< --trace
    profile,      ///< --profile
    metrics,      ///< for Prometheus and TensorBoard
};
[[nodiscard]] std::span<const Setting<TrainSettings>> options_of(RunGroup group);
/// Those of verbs that run on ranks.
[[nodiscard]] std::span<const Setting<run::RankOptions>> rank_options();

void bind_train(CLI::App& app, std::initializer_list<train::OptionGroup> groups,
                train::TrainOptions& options, HelpListing shown = HelpListing::declared);
void bind_run(CLI::App& app, std::initializer_list<RunGroup> groups, TrainSettings& settings);
/// What completion offers for --policy and --agent of verbs where they may be repeated.
void offer_specs(CLI::App& app);
void bind_ranks(CLI::App& app, run::RankOptions& options,
                HelpListing shown = HelpListing::declared);

/// What follows from the options once they are parsed: fan-outs of the layers, paths of traces and
/// profiles. A usage Error where they cannot be combined.
void settle(TrainSettings& settings, CLI::App& app);

/// What a summary says of the run besides its results.
[[nodiscard]] train::RunFacts run_facts_of(const comm::Communicator& comm,
                                           const partition::PartitionedDataset& data,
                                           const TrainSettings& settings);
/// Warns of an agent that has no effect on the policy of the run.
void warn_of_idle_agent(const train::TrainOptions& options);

}  // namespace rudder::cli
