// What to try next, judged by what a run came to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rudder::train {
struct Summary;
}

namespace rudder::cli {

/// What the rules look at. Shares are 0 to 1.
struct RunSigns {
    // Of the time of steps.
    double stall = 0;  ///< waiting for rows, those of the slowest rank included
    double compute = 0;
    double reduce = 0;  ///< waiting for gradients on their way
    double slower = 0;  ///< waiting for ranks that compute longer
    // Rows and bytes.
    double travelled = 0;          ///< rows fetched, as a share of those that no buffer would fetch
    double feature_share = 0;      ///< of all bytes
    bool float_rows = false;       ///< they travel as 32-bit floats
    bool float_gradients = false;  ///< likewise
    bool own_samples = false;      ///< every vertex draws for itself, and need not
    bool buffered = false;         ///< there is a buffer
    double buffer = 0;             ///< its size, as a share of the halo; 0: given otherwise
    std::uint64_t window = 0;      ///< steps looked ahead, if that was fixed; 0: it adapts
    double cut = 0;                ///< share of edges between parts
    std::string method;            ///< of the partition
    // The machine.
    int ranks = 1;    ///< on this machine
    int threads = 1;  ///< per rank
    int cores = 1;
    std::uint64_t batch = 0;
    std::uint64_t steps_per_epoch = 0;
    // What was learned.
    std::optional<double> train;
    std::optional<double> valid;
    std::uint64_t best_epoch = 0;  ///< counted from 1; 0: none was evaluated
    std::uint64_t epochs = 0;
    double dropout = 0;
    // The agent, and what is kept.
    std::optional<double> excess;  ///< rows more than the built-in rule's, as a share
    bool steered = false;
    bool kept = false;    ///< there is an --out
    bool traced = false;  ///< the floor is known
};

/// One rule: what it is called, and what it advises, if anything.
struct AdviceRule {
    std::string_view name;
    std::optional<std::string> (*advise)(const RunSigns& signs);
};

/// All of them, the most important first.
[[nodiscard]] std::span<const AdviceRule> advice_rules() noexcept;

/// The advice of the first three rules that have any.
[[nodiscard]] std::vector<std::string> advice_for(const RunSigns& signs);

/// What a summary tells of the signs; the others are left as they are.
void read_signs(const train::Summary& summary, RunSigns& signs);

}  // namespace rudder::cli
