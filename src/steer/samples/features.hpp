// Features: what a classifier is shown of an observation, the same when collecting and deciding.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "rudder/steer/observation.hpp"

namespace rudder::steer {

/// Which list: ours (windowed, fractional, priced), or the published one.
enum class FeatureSet : std::uint8_t { repaired, faithful };
[[nodiscard]] std::string_view to_string(FeatureSet set) noexcept;

/// Of both lists; a model or table of another version is refused.
inline constexpr std::uint64_t feature_version = 2;

/// The names, in order. Neither list has the name of a graph or the number of a rank. The published
/// list lacks its one-hot of data set names (a name that was not seen counts as none there).
[[nodiscard]] std::span<const std::string_view> feature_names(FeatureSet set) noexcept;

/// What the published classifiers are told of a step.
struct ClassifierRecord {
    double hit_rate = 0;  ///< since the start, in whole per cent
    double fetch = 0;     ///< seconds of the last fetches per step; in replays, rows
};
[[nodiscard]] ClassifierRecord classifier_record(const Observation& observation) noexcept;
/// The label of its fine-tuning and of its label accuracy: points of the hit rate gained outweigh
/// what fetching costs more, both as plain numbers. A tie is no gain.
[[nodiscard]] constexpr bool gained_as_published(double hit_change, double fetch_change) noexcept {
    return hit_change - fetch_change > 0;
}
[[nodiscard]] constexpr bool gained_as_published(const ClassifierRecord& before,
                                                 const ClassifierRecord& after) noexcept {
    return gained_as_published(after.hit_rate - before.hit_rate, after.fetch - before.fetch);
}

/// Makes features of one observation after the other. It remembers a few windows, so one maker
/// serves one buffer, and must be shown every observation in order.
class FeatureMaker {
public:
    explicit FeatureMaker(FeatureSet set) : set_(set), values_(feature_names(set).size()) {}

    /// Valid until the next call.
    [[nodiscard]] std::span<const double> make(const Observation& observation);
    [[nodiscard]] FeatureSet set() const noexcept { return set_; }

private:
    void remember(const Observation& observation);
    void repaired(const Observation& observation);
    void faithful(const Observation& observation);

    FeatureSet set_;
    std::vector<double> values_;

    // What is remembered of the windows so far.
    std::deque<double> hit_rates_;  ///< of the last windows, the newest last
    double mean_hit_rate_ = 0;      ///< exponentially weighted, as all means here
    double mean_demand_ = 0;        ///< per step
    double twin_ = 0;               ///< rows fetched by the twin, and by the built-in rule
    double built_in_ = 0;
    double brought_in_ = 0;            ///< rows of the last replacement
    double best_since_ = 0;            ///< highest hit rate since then
    double first_since_ = 0;           ///< hit rate of the window after it
    double demand_since_ = 0;          ///< rows
    std::uint64_t steps_since_ = 0;    ///< since the last replacement
    std::uint64_t windows_since_ = 0;  ///< the same in observations
    std::uint64_t seen_ = 0;           ///< observations
};

}  // namespace rudder::steer
