// What compare found: the runs of every row, with medians and spread, as a table, CSV and JSON.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "rudder/train/options.hpp"
#include "rudder/train/result.hpp"
#include "train/summary.hpp"

namespace rudder::cli {

/// One run; rows and times on rank 0 alone.
struct ComparedRun {
    train::TrainResult result;
    Json summary;  ///< of its folder, where it has one
    std::filesystem::path folder{};

    [[nodiscard]] std::uint64_t fetched() const {
        return result.rows.demand + result.rows.replacement + result.rows.ahead;
    }
    /// Per step and rank.
    [[nodiscard]] double milliseconds(double seconds, int ranks) const;
    [[nodiscard]] double step_milliseconds(int ranks) const {
        return milliseconds(result.step_seconds.step, ranks);
    }
};

/// One policy, perhaps with an agent, and its runs, one for each repeat.
struct ComparedRow {
    train::TrainOptions options;
    bool steered = false;  ///< agents are compared, too
    std::vector<ComparedRun> runs{};

    /// As it is called in the table.
    [[nodiscard]] std::string name() const;
    /// The run in the middle, by the time of a step.
    [[nodiscard]] const ComparedRun& middle() const;
};

/// Several values of one thing.
struct ValueSpread {
    double least = 0;
    double median = 0;  ///< of an even number, the mean of the two in the middle
    double most = 0;
};
[[nodiscard]] ValueSpread spread_of(std::vector<double> values);

/// What holds for all rows.
struct CompareFacts {
    train::RunFacts run;
    std::optional<std::uint64_t> floor;  ///< rows
};

/// Medians; where repeats differ, with the least and the most.
[[nodiscard]] std::string compare_table(std::span<const ComparedRow> rows,
                                        const CompareFacts& facts);
/// What follows for the user, in a sentence or two.
[[nodiscard]] std::string compare_advice(std::span<const ComparedRow> rows,
                                         const CompareFacts& facts);
/// A line for each run, in the order in which they ran.
[[nodiscard]] std::string compare_csv(std::span<const ComparedRow> rows, const CompareFacts& facts);
/// The summary of each row's run in the middle; of repeats, also their spread.
[[nodiscard]] Json compare_json(std::span<const ComparedRow> rows, const CompareFacts& facts);

}  // namespace rudder::cli
