// What a run's folder says, read once: the model that reports are made from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rudder/core/rows.hpp"
#include "rudder/core/seconds.hpp"
#include "rudder/steer/action.hpp"

namespace rudder::report {

/// A JSON object laid flat: "rows.hit", "command.0". Truth values are 0 and 1; null is absent.
struct Facts {
    std::map<std::string, double, std::less<>> numbers;
    std::map<std::string, std::string, std::less<>> texts;

    [[nodiscard]] std::optional<double> number(std::string_view path) const;
    /// Empty where there is none.
    [[nodiscard]] std::string text(std::string_view path) const;
    /// The texts of a list, in order.
    [[nodiscard]] std::vector<std::string> list(const std::string& path) const;
    /// The numbers of a list, in order.
    [[nodiscard]] std::vector<double> number_list(const std::string& path) const;
    [[nodiscard]] bool empty() const noexcept { return numbers.empty() && texts.empty(); }
};

/// Several values as one that hides no extreme.
struct Stat {
    double sum = 0;
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    std::uint64_t count = 0;

    void add(double value) noexcept;
    void add(const Stat& other) noexcept;
    [[nodiscard]] double mean() const noexcept {
        return count == 0 ? 0 : sum / static_cast<double>(count);
    }
};

/// What a column of StepSeries holds beside the metrics of the catalogue.
enum class Derived : std::uint8_t {
    fetched,      ///< demand + replacement + ahead
    remote,       ///< hit + demand: what a run without a buffer would fetch
    hit_rate,     ///< of a step; its mean over steps is hit over remote
    rest,         ///< seconds of a step that no phase accounts for
    worst_stall,  ///< waiting for rows, of the rank that waited longest
    floor,        ///< rows the clairvoyant optimum fetches; empty without a trace
};
inline constexpr std::size_t derived_count = 6;

/// Numbers of steps, in buckets of `width` steps; bucket i begins at step i x width. A step's
/// counts are sums over ranks, its seconds and values means over ranks.
struct StepSeries {
    std::uint64_t width = 1;
    std::size_t columns = 0;
    std::vector<Stat> stats;  ///< bucket x column

    [[nodiscard]] std::size_t buckets() const noexcept {
        return columns == 0 ? 0 : stats.size() / columns;
    }
    [[nodiscard]] const Stat& at(std::size_t bucket, std::size_t column) const {
        return stats[bucket * columns + column];
    }
    /// All buckets of a column as one.
    [[nodiscard]] Stat total(std::size_t column) const;
    /// Joins buckets until there are at most `most`.
    void coarsen(std::size_t most);
};

/// The columns: of a metric of the catalogue by its path, and of what is derived.
[[nodiscard]] std::size_t series_column(std::string_view metric_path);
[[nodiscard]] std::size_t series_column(Derived derived);
[[nodiscard]] std::size_t series_columns();

/// What a rank, or a few neighbours, did in a stretch of steps: sums.
struct RankCell {
    double own = 0;   ///< seconds of computing, and of waiting for rows of its own
    double rows = 0;  ///< fetched
    std::uint64_t lines = 0;

    static constexpr auto fields =
        unnamed_fields(&RankCell::own, &RankCell::rows, &RankCell::lines);
    RankCell& operator+=(const RankCell& other) noexcept { return add_fields(*this, other); }
};
static_assert(lists_all_fields<RankCell>);

/// Ranks side by side, in buckets of `width` steps; bucket i begins at step i x width.
struct RankSeries {
    std::uint64_t width = 1;
    std::size_t groups = 0;
    std::vector<RankCell> cells;  ///< bucket x group

    [[nodiscard]] std::size_t buckets() const noexcept {
        return groups == 0 ? 0 : cells.size() / groups;
    }
    [[nodiscard]] const RankCell& at(std::size_t bucket, std::size_t group) const {
        return cells[bucket * groups + group];
    }
    /// Joins buckets until there are at most `most`.
    void coarsen(std::size_t most);
};

/// Sums over the run of one rank, or of a few neighbours where there are many ranks.
struct RankTotals {
    std::uint64_t lines = 0;
    Seconds seconds;
    Rows rows;
    std::uint64_t edges = 0;  ///< sampled
    // From which follows what a step's computing takes whatever it has to read: sums of rows needed
    // squared, of these times seconds of computing, and of such seconds squared.
    double rows_squared = 0;
    double rows_computed = 0;
    double computed_squared = 0;

    static constexpr auto fields = unnamed_fields(
        &RankTotals::lines, &RankTotals::seconds, &RankTotals::rows, &RankTotals::edges,
        &RankTotals::rows_squared, &RankTotals::rows_computed, &RankTotals::computed_squared);

    RankTotals& operator+=(const RankTotals& other) noexcept { return add_fields(*this, other); }
};
static_assert(lists_all_fields<RankTotals>);

/// Those of one step.
[[nodiscard]] inline RankTotals step_totals(const Seconds& seconds, const Rows& rows,
                                            std::uint64_t edges) noexcept {
    const auto read = static_cast<double>(rows.needed);
    return {1,
            seconds,
            rows,
            edges,
            read * read,
            read * seconds.compute,
            seconds.compute * seconds.compute};
}

/// metrics.jsonl.
struct MetricsData {
    bool present = false;
    std::uint64_t bytes = 0;
    std::uint64_t lines = 0;      ///< that could be read
    std::uint64_t damaged = 0;    ///< that could not
    std::uint64_t unordered = 0;  ///< whose step comes before that of the line above
    bool cut = false;             ///< its last line ends in the middle
    std::uint64_t steps = 0;
    std::uint64_t first_step = 0;
    std::uint64_t last_step = 0;
    std::uint64_t ranks = 0;
    std::uint64_t bad_losses = 0;     ///< lines whose loss is no number
    std::vector<std::uint64_t> seen;  ///< by metric of the catalogue: lines that have it
    StepSeries series;
    std::vector<double> epoch_ends;  ///< steps at which an epoch begins, the first left out
    std::uint64_t ranks_per_group = 1;
    std::vector<RankTotals> by_rank;  ///< by group
    RankSeries rank_series;           ///< by group
    std::vector<double> by_owner;     ///< group x group: feature bytes received from an owner
    bool has_owners = false;
    std::vector<std::pair<std::uint64_t, std::string>> policies;  ///< of rank 0, where it changes
};

/// One line of epochs.jsonl; epochs from 1.
struct EpochData {
    std::uint64_t epoch = 0;
    std::optional<double> loss, seconds, evaluation_seconds;
    std::optional<double> train, valid, test;
};

/// What came of a decision, by the counterfactual.
enum class Judgement : std::uint8_t { right, wrong, undecided, no_effect };

/// A decision as a point.
struct DecisionPoint {
    std::uint64_t step = 0;
    std::uint32_t rank = 0;
    steer::ActionKind kind = steer::ActionKind::keep;
    Judgement verdict = Judgement::undecided;
    bool failed = false;  ///< late, invalid or refused: it never took effect
    bool undone = false;
    float gain = 0;  ///< rows per step less than the alternative's, as a share of the larger
    std::uint32_t length = 0;
    std::uint64_t offset = 0;  ///< of its line
};

/// A decision in words.
struct DecisionText {
    std::uint64_t step = 0;
    std::uint64_t effective_step = 0;
    std::uint32_t rank = 0;
    std::string action, alternative, reason, note, problem, status;
    Judgement verdict = Judgement::undecided;
    std::optional<double> rows, other_rows, latency;
};

/// decisions.jsonl.
struct DecisionData {
    bool present = false;
    std::uint64_t lines = 0;
    std::uint64_t damaged = 0;
    bool cut = false;
    std::string agent;
    std::vector<DecisionPoint> points;
    std::vector<DecisionText> notable;  ///< at most a few hundred, in order of steps
};

/// One step of the profile, thread by thread; times are microseconds from its start.
struct StepTimeline {
    struct Span {
        std::string name;
        std::string category;
        double start = 0;
        double end = 0;
    };
    struct Lane {
        std::string thread;
        std::vector<Span> spans;  ///< outer ones before those inside
    };
    struct Rank {
        std::uint64_t rank = 0;
        std::vector<Lane> lanes;
    };
    std::uint64_t step = 0;
    std::uint64_t steps = 0;  ///< of the profile
    double length = 0;
    std::vector<Rank> ranks;      ///< those that are shown
    std::uint64_t all_ranks = 0;  ///< of the profile
};

/// A stage of making a step's rows ready; seconds, mean over the steps and ranks of a profile.
struct StageTimes {
    double waited = 0;  ///< of a step, which waited for it
    double work = 0;    ///< that it takes for one step
};

/// What a profile says that sums over steps do not: seconds, likewise.
struct ProfileTimes {
    double steps = 0;  ///< of a rank, whose making is in the profile
    double step = 0;
    double stall = 0;  ///< of it; the waits below are parts of it
    StageTimes sampling, policy, assembling;
    double network = 0;         ///< while its fetching waited for others
    double compute_alone = 0;   ///< of a step
    double compute_beside = 0;  ///< of one that evaluation went on beside
    double beside = 0;          ///< share of such steps
};

/// How a run stands.
enum class RunStatus : std::uint8_t { finished, interrupted, failed, killed, running, unfinished };
[[nodiscard]] std::string_view to_string(RunStatus state) noexcept;

/// All that a folder says. Nothing in it is trusted: whatever is absent, damaged or of another
/// version is left out and named in `missing`, one sentence each.
struct RunData {
    std::filesystem::path path;
    std::string name;
    RunStatus state = RunStatus::unfinished;
    Facts summary;
    Facts run;
    std::string config;  ///< of config.toml
    MetricsData metrics;
    std::vector<EpochData> epochs;
    DecisionData decisions;
    std::optional<StepTimeline> timeline;  ///< where there is a profile
    std::optional<ProfileTimes> profile;   ///< likewise
    bool traced = false;                   ///< there is a trace/
    std::vector<std::string> missing;
};

/// By what run.json and summary.json say, and by the lock of whoever writes the folder.
[[nodiscard]] RunStatus run_status(const Facts& run, const Facts& summary,
                                   const std::filesystem::path& folder);

/// Whether there is anything of a run in a folder.
[[nodiscard]] bool is_run_folder(const std::filesystem::path& folder);
/// An input Error where there is not.
void expect_run_folder(const std::filesystem::path& folder);

/// How much of a run is read: all of it, or what its averages need: no decisions, and of a long
/// metrics.jsonl stretches that are spread over all of it.
enum class ReadDepth : std::uint8_t { whole, averages };

/// Reads a folder, its large files on all threads. An input Error if it is no run's.
[[nodiscard]] RunData read_run(const std::filesystem::path& folder,
                               ReadDepth depth = ReadDepth::whole);

/// What the profile of a run's folder says; nothing where there is no folder or no profile in it
/// that can be read.
[[nodiscard]] std::optional<ProfileTimes> profile_of_run(const std::filesystem::path& folder);

/// Adds the floor: the rows of each step from `first_step` on.
void add_floor(RunData& run, std::uint64_t first_step, const std::vector<double>& rows);

/// Adds what `info --json` says of the partition, for runs that do not say it themselves.
void add_partition(RunData& run, const std::string& json);

}  // namespace rudder::report
