// Scenario files: what is to be simulated, and over which options it sweeps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rudder/core/error.hpp"
#include "rudder/train/options.hpp"
#include "train/simulate/cluster_model.hpp"

namespace rudder::run {

/// One run to simulate.
struct SimulatedJob {
    std::string title;
    std::uint64_t ranks = 0;
    std::uint64_t ranks_per_host = 1;
    std::uint64_t threads = 1;  ///< of a rank
    std::uint64_t steps = 0;    ///< at most; 0: all epochs
    std::string profile{"built-in:ethernet-10g"};
    std::string source;  ///< of the graph: like:NAME, a data set or a partition
    double scale = 1;
    std::uint64_t graph_seed = 0;
    std::string method;   ///< of the partition; empty: as partition has it
    std::string latency;  ///< empty: as the profile has it
    std::string rate;     ///< likewise
    double oversubscription = 1;
    double incast = 0;
    train::SumRoute sums = train::SumRoute::owner;
    train::TrainOptions train;

    // What was not given and follows from the rest.
    bool batch_given = false;
    bool fanout_given = false;
    bool layers_given = false;
};

/// A job of a sweep: the values of the keys that are swept.
struct SweptJob {
    std::vector<std::pair<std::string, std::string>> at;
    SimulatedJob job;
    /// "policy window:16, ranks 64"; empty where nothing is swept.
    [[nodiscard]] std::string name() const;
};

/// A file as it was read.
class Scenario {
public:
    /// `full`: what the table [full] says takes the place of the rest. `set`: KEY=VALUE, which do,
    /// too. An input Error names the place of what is unknown or cannot be meant.
    [[nodiscard]] static Scenario read(const std::filesystem::path& file, bool full,
                                       std::span<const std::string> set = {});
    [[nodiscard]] static Scenario parse(std::string_view text, const std::string& where, bool full,
                                        std::span<const std::string> set = {});

    /// All pairs of what is swept, the last key fastest; one job where nothing is.
    [[nodiscard]] const std::vector<SweptJob>& jobs() const noexcept { return jobs_; }
    [[nodiscard]] const std::string& title() const noexcept { return title_; }
    [[nodiscard]] bool sweeps() const noexcept { return !swept_.empty(); }
    /// The keys that are swept.
    [[nodiscard]] const std::vector<std::string>& swept() const noexcept { return swept_; }
    /// "FILE, line N" of a key; of the file where it is not there.
    [[nodiscard]] std::string place(std::string_view key) const;
    /// An input Error about a key.
    [[nodiscard]] Error fault(std::string_view key, const std::string& problem,
                              const std::string& remedy) const;

private:
    std::string where_;
    std::string title_;
    std::map<std::string, std::uint32_t, std::less<>> lines_;  ///< of keys
    std::vector<std::string> swept_;
    std::vector<SweptJob> jobs_;
};

/// The options of a job as a configuration of `train` has them.
[[nodiscard]] std::string job_config(const SimulatedJob& job);
/// The job as a scenario of its own, which makes the same run.
[[nodiscard]] std::string job_scenario(const SimulatedJob& job);

}  // namespace rudder::run
