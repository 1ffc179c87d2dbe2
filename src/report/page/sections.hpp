// The parts of a page about one run.
#pragma once

#include <span>
#include <string>

#include "report/run_data.hpp"

#include "answers.hpp"
#include "chart.hpp"
#include "html.hpp"

namespace rudder::report {

/// A run as it is shown.
struct ShownRun {
    const RunData& run;
    Answers answers;
    StepSeries series;               ///< as coarse as it is drawn
    std::string id;                  ///< what its ids begin with: "r1-"
    std::string label;               ///< unique among the runs of a page
    std::size_t points;              ///< of a curve, at most
    std::size_t decisions;           ///< rows of their table, at most
    std::size_t config;              ///< bytes of config.toml, at most
    std::string name{};              ///< of its folder, or of the one that its repeats are in
    std::vector<Answers> repeats{};  ///< of the same setting, itself included; empty: it is alone

    /// A number of it; of repeats, the median with the least and the most.
    struct Spread {
        double least = 0;
        double median = 0;
        double most = 0;
        std::size_t count = 1;
    };
    [[nodiscard]] std::optional<Spread> spread(std::optional<double> Answers::*number) const;
};

/// The runs of a page, those that are repeats of one setting together, in the order in which the
/// first of each is given.
[[nodiscard]] std::vector<std::vector<const RunData*>> repeats_of(std::span<const RunData> runs);
/// A group as one: the run in the middle by the time of a step, and the answers of all.
[[nodiscard]] ShownRun middle_of(std::span<const RunData* const> group);
/// What the runs of a page are called: by policy, agent and link as far as they differ, and by
/// their folders where that does not tell them apart. No two are the same.
[[nodiscard]] std::vector<std::string> titles_of(const std::vector<ShownRun>& runs);

void write_state(Html& html, const ShownRun& shown);
void write_answer(Html& html, const ShownRun& shown);
void write_tiles(Html& html, const ShownRun& shown);
void write_missing(Html& html, const ShownRun& shown);
void write_learning(Html& html, const ShownRun& shown);
void write_time(Html& html, const ShownRun& shown);
/// Nothing where there is one rank alone.
void write_side_by_side(Html& html, const ShownRun& shown);
[[nodiscard]] bool has_ranks(const ShownRun& shown);
/// Nothing where there is no profile.
void write_step(Html& html, const ShownRun& shown);
void write_rows(Html& html, const ShownRun& shown);
void write_agent(Html& html, const ShownRun& shown);
void write_partition(Html& html, const ShownRun& shown);
void write_settings(Html& html, const ShownRun& shown);

/// Several runs side by side: their answers, then their curves over each other.
void write_comparison(Html& html, const std::vector<ShownRun>& runs);

/// Whether nothing was computed: it has times of a model, and no losses.
[[nodiscard]] bool simulated(const ShownRun& shown);

// ---- what they share ----------------------------------------------------------------------------

/// A section with its heading; ids get the run's prefix.
class Section {
public:
    Section(Html& html, const ShownRun& shown, Literal id, Literal title);
    ~Section();
    Section(Section&&) = delete;

private:
    Html& html_;
};

/// A name and a value, in a list of such; nothing where the value is empty.
void write_fact(Html& html, Literal name, const std::string& value);
/// "3", or "12\u201315" where ranks are grouped.
[[nodiscard]] std::string rank_name(const MetricsData& metrics, std::size_t group);

/// The axis of steps, and the buckets that stand on it.
struct StepAxis {
    XAxis x;
    std::vector<std::size_t> buckets;
};
[[nodiscard]] StepAxis step_axis(const ShownRun& shown);
/// The axis of epochs: each point stands for one, or for a few where there are many.
struct EpochAxis {
    XAxis x;
    std::size_t width = 1;
};
[[nodiscard]] EpochAxis epoch_axis(const ShownRun& shown, std::size_t width = 1);
[[nodiscard]] Series epoch_line(const ShownRun& shown, const EpochAxis& axis, std::string name,
                                int colour, std::optional<double> EpochData::*value);

/// A column as a line, with a band where a point stands for several steps.
[[nodiscard]] Series step_line(const ShownRun& shown, const StepAxis& axis, std::string name,
                               int colour, std::size_t column);
/// The same without a band.
[[nodiscard]] Series step_layer(const ShownRun& shown, const StepAxis& axis, std::string name,
                                int colour, std::size_t column);
/// Of the time that steps waited for rows; runs of earlier versions did not divide their waits, and
/// know only how long each rank waited for its own.
[[nodiscard]] std::size_t rows_wait_column(const MetricsData& metrics);
/// Hits over remote rows.
[[nodiscard]] Series hit_rate_line(const ShownRun& shown, const StepAxis& axis, std::string name,
                                   int colour);
/// "Each point is the mean of 256 steps; the band reaches from the least to the most of them."
[[nodiscard]] std::string width_note(const ShownRun& shown);

/// The palette by what is shown.
namespace colour {
inline constexpr int compute = 0;
inline constexpr int stall = 1;
inline constexpr int reduce = 2;
inline constexpr int slower = 3;
inline constexpr int agent = 5;
inline constexpr int rest = 6;
inline constexpr int local = 6;
inline constexpr int hit = 2;
inline constexpr int demand = 0;
inline constexpr int replacement = 5;
inline constexpr int ahead = 4;
inline constexpr int floor = 7;
}  // namespace colour

}  // namespace rudder::report
