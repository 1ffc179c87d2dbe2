// What a run is explained by: its settings, its times, and what each rank did, as one value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_data.hpp"
#include "train/summary.hpp"

namespace rudder::report {

/// A rank's share in a step, on average.
struct RankWork {
    std::string name;    ///< "rank 3", or "ranks 4 to 7" where there are many
    double compute = 0;  ///< seconds
    double edges = 0;    ///< that its batches have
};

/// The modelled link, as it was at the start.
struct LinkFacts {
    double delay = 0;  ///< seconds
    double rate = 0;   ///< bytes per second
};

/// Options by their names, as a person would write their values.
using SettingTexts = std::map<std::string, std::string, std::less<>>;

/// Seconds are of one step, mean over ranks, unless they say otherwise. What is not known is 0 or
/// absent.
struct ExplainedRun {
    std::string name;                     ///< as it was called
    std::string totals = "summary.json";  ///< the file that sums over the run are from
    SettingTexts settings;                ///< of config.toml; empty where there is no folder
    std::string version;                  ///< of the program
    std::string host;                     ///< of the first rank
    std::string partition;                ///< the graph and its parts, in a few words
    double ranks = 1;
    double hosts = 1;
    double machine_ranks = 1;  ///< on the machine of the first
    double cores = 0;          ///< of that machine, that the run may use
    double threads = 0;        ///< of each rank
    double batch = 0;
    double steps = 0;
    double epochs = 0;
    double steps_per_epoch = 0;
    double evaluations = 0;
    bool auto_evaluation = false;  ///< they come as their time allows
    bool made_slow = false;        ///< a rank, by --slow
    double sample_tasks = 0;       ///< that were asked for; 0: a quarter of the threads
    std::string policy;
    bool buffered = false;
    std::optional<double> window;     ///< steps looked ahead
    std::optional<double> in_flight;  ///< steps assembled at a time
    std::string link;                 ///< as given
    std::optional<LinkFacts> modelled;

    double total = 0;       ///< seconds of the clock, of the run
    double evaluation = 0;  ///< that training waited for it, of the clock, in the run
    double cpu = 0;         ///< of the ranks on the machine of the first, in the run
    Seconds step;           ///< with all parts
    std::vector<RankWork> pace;
    std::optional<double> empty_compute;  ///< of a step without rows, by those there are

    double remote = 0;   ///< rows of other hosts that steps needed, in all
    double learned = 0;  ///< of these, rows that are learned: no buffer and no look-ahead helps
    double fetched = 0;
    double row_bytes = 0;
    double feature_bytes = 0;             ///< of the run, over all ranks
    double wire_bytes = 0;                ///< likewise, of all that steps need
    std::optional<double> seeds;          ///< of an epoch, in the part that has most
    std::optional<double> train_balance;  ///< training vertices of the largest part, over the mean
    std::string agent;
    std::optional<double> excess;         ///< rows over those of the built-in rule, less 1
    std::optional<ProfileTimes> profile;  ///< of one epoch, where there is one
    std::vector<std::string> missing;     ///< what the folder lacks, one sentence each

    /// Steps are known well enough to say anything.
    [[nodiscard]] bool timed() const noexcept { return steps > 0 && step.step > 0; }
    /// Rows of other hosts that a buffer may keep and look-ahead may bring early.
    [[nodiscard]] double kept() const noexcept { return remote - learned; }
    /// How long a host's bytes of a step take on the modelled link.
    [[nodiscard]] std::optional<double> wire() const;
    /// The share of the steps' time in which the cores of a machine work for the run.
    [[nodiscard]] std::optional<double> busy() const;
    /// What a step takes whatever else is fixed: its bytes on the wire, its work on the cores.
    [[nodiscard]] double least_step() const;
    /// Computing and all that is not waiting for the network.
    [[nodiscard]] double own() const noexcept {
        return step.step - step.wait_rows - step.wait_gradients;
    }
    /// Waiting for rows, less what a profile knows to be waiting for sampling.
    [[nodiscard]] double wait_of_rows() const noexcept;
    /// The same, less all that it knows to be the rank's own.
    [[nodiscard]] double wait_of_network() const noexcept;
    /// As a share of what does not wait for the network: what is hidden behind it counts, too.
    [[nodiscard]] double own_share(double seconds) const noexcept {
        return own() > 0 ? seconds / own() : 0;
    }
    /// As a share of the step.
    [[nodiscard]] double share(double seconds) const noexcept {
        return step.step > 0 ? seconds / step.step : 0;
    }
    [[nodiscard]] std::string setting(std::string_view key) const;
};

/// A run that has just ended, by the values it ended with.
struct EndedRun {
    std::string name;
    const train::Summary& summary;
    const train::TrainOptions& options;
    const std::vector<RankTotals>& by_rank;
    int ranks_per_host = 0;  ///< that were made hosts on one machine; 0: as ranks share memory
    int cores = 0;           ///< of the machine of the first rank
    std::optional<double> train_balance{};
    std::optional<double> seeds{};  ///< of an epoch, in the part that has most
    std::optional<ProfileTimes> profile{};
};
[[nodiscard]] ExplainedRun explained_run(const EndedRun& from);

/// Of a run's folder.
[[nodiscard]] ExplainedRun explained_run(const RunData& run);

/// The keys of a config.toml; none where it is not valid TOML.
[[nodiscard]] std::optional<SettingTexts> settings_of(std::string_view config);

}  // namespace rudder::report
