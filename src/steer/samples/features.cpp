#include "features.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace rudder::steer {

namespace {

constexpr auto repaired_names = std::to_array<std::string_view>({
    "hit_rate",                        // share of needed rows, last window
    "hit_rate_change_1",               // less that of the window before
    "hit_rate_change_4",               // less that of four windows before
    "hit_rate_over_mean",              // less its moving mean
    "hit_rate_since_replacement",      // less that of the window after the last replacement
    "hit_rate_below_best",             // highest since the last replacement, less now
    "mean_hit_rate",                   // moving mean
    "hits_per_capacity",               // per step
    "demand_per_capacity",             // per step
    "needed_per_capacity",             // per step
    "needed_per_halo",                 // per step
    "demand_over_mean",                // of its moving mean
    "replacement_per_capacity",        // last window
    "brought_in_per_capacity",         // by the last replacement
    "steps_since_replacement",         // logarithm
    "demand_since_per_capacity",       // misses since the last replacement
    "replacement_total_per_capacity",  // since the start
    "wasted_share",                    // of rows fetched for the buffer, since the start
    "until_built_in",                  // steps until the built-in rule replaces, of its interval
    "capacity_per_halo",
    "candidates_per_capacity",
    "twin_per_built_in",  // rows fetched, moving means
    "progress",
    "epochs_done",  // logarithm
    "epoch_position",
    "row_bytes",  // logarithm
});

constexpr auto faithful_names = std::to_array<std::string_view>({
    "batch_size",
    "total_nodes",
    "partition_nodes",
    "remote_nodes",
    "buffer_size",
    "interval_id",
    "evicted_nodes",
    "pre_avg_hitrate",
    "pre_avg_t_rpc",
});

constexpr double feature_memory = 0.9;  ///< of moving means, per window

double ratio(double a, double b) {
    return b > 0 ? a / b : 0;
}
double number(std::uint64_t value) {
    return static_cast<double>(value);
}

/// Steps until the built-in rule replaces by itself, the coming one counted as 0; as a share of its
/// interval. 1 where it never does.
double until_built_in(const Observation& o) {
    const buffer::PolicySpec& policy = o.built_in.setting.policy;
    for (const char* key : {"every", "delta"}) {
        if (!policy.has(key)) continue;
        const std::uint64_t every = policy.whole(key);
        if (every != 0) return number((every - (o.step + 1) % every) % every) / number(every);
    }
    return 1;
}

}  // namespace

std::string_view to_string(FeatureSet set) noexcept {
    return set == FeatureSet::faithful ? "faithful" : "repaired";
}

std::span<const std::string_view> feature_names(FeatureSet set) noexcept {
    if (set == FeatureSet::faithful) return faithful_names;
    return repaired_names;
}

ClassifierRecord classifier_record(const Observation& o) noexcept {
    const double steps = number(std::max<std::uint64_t>(1, o.rows.steps));
    const bool timed = o.seconds.steps != 0;
    return {.hit_rate = std::round(100 * hit_rate(o.total)),
            .fetch = timed ? o.seconds.fetch / number(o.seconds.steps)
                           : number(o.rows.fetched()) / steps};
}

std::span<const double> FeatureMaker::make(const Observation& observation) {
    remember(observation);
    set_ == FeatureSet::faithful ? faithful(observation) : repaired(observation);
    for (double& value : values_)
        value = std::isfinite(value) ? value : 0;
    return values_;
}

void FeatureMaker::remember(const Observation& o) {
    const double hit_rate = o.hit_rate();
    const double steps = number(std::max<std::uint64_t>(1, o.rows.steps));
    const auto moving = [&](double& mean, double value) {
        mean = seen_ == 0 ? value : feature_memory * mean + (1 - feature_memory) * value;
    };
    moving(mean_hit_rate_, hit_rate);
    moving(mean_demand_, number(o.rows.demand) / steps);
    moving(twin_, number(o.twin.rows.fetched()) / steps);
    moving(built_in_, number(o.built_in.rows.fetched()) / steps);
    ++seen_;
    hit_rates_.push_back(hit_rate);
    if (hit_rates_.size() > 5) hit_rates_.pop_front();
    if (o.rows.replacement != 0) {
        brought_in_ = number(o.rows.replacement);
        steps_since_ = windows_since_ = 0;
        demand_since_ = best_since_ = 0;
        return;
    }
    steps_since_ += o.rows.steps;
    ++windows_since_;
    demand_since_ += number(o.rows.demand);
    best_since_ = std::max(best_since_, hit_rate);
    if (windows_since_ == 1) first_since_ = hit_rate;
}

void FeatureMaker::repaired(const Observation& o) {
    const double steps = number(std::max<std::uint64_t>(1, o.rows.steps));
    const double capacity = number(o.setting.capacity);
    const double halo = number(o.halo);
    const double hit_rate = o.hit_rate();
    const double demand = number(o.rows.demand) / steps;
    const double needed = number(o.rows.needed) / steps;
    const auto before = [&](std::size_t windows) {
        return hit_rates_.size() > windows ? hit_rates_[hit_rates_.size() - 1 - windows] : hit_rate;
    };
    const bool after = windows_since_ != 0;
    const double epochs = ratio(number(o.step), number(o.steps_per_epoch));
    const double for_buffer = number(o.total.replacement + o.total.ahead);
    std::size_t i = 0;
    const auto put = [&](double value) { values_[i++] = value; };
    put(hit_rate);
    put(hit_rate - before(1));
    put(hit_rate - before(4));
    put(hit_rate - mean_hit_rate_);
    put(after ? hit_rate - first_since_ : 0);
    put(after ? best_since_ - hit_rate : 0);
    put(mean_hit_rate_);
    put(ratio(number(o.rows.hit) / steps, capacity));
    put(ratio(demand, capacity));
    put(ratio(needed, capacity));
    put(ratio(needed, halo));
    put(ratio(demand, mean_demand_));
    put(ratio(number(o.rows.replacement), capacity));
    put(ratio(brought_in_, capacity));
    put(std::log1p(number(steps_since_)));
    put(std::min(8.0, ratio(demand_since_, capacity)));
    put(std::min(8.0, ratio(number(o.total.replacement), capacity)));
    put(ratio(number(o.total.wasted), for_buffer));
    put(until_built_in(o));
    put(ratio(capacity, halo));
    put(std::min(8.0, ratio(number(o.candidates), capacity)));
    put(std::min(4.0, ratio(twin_, built_in_)));
    put(ratio(number(o.step), number(o.steps)));
    put(std::log1p(epochs));
    put(epochs - std::floor(epochs));
    put(std::log1p(number(o.row_bytes)));
}

/// As published: sizes as they are, the hit rate since the start in whole per cent, rows evicted by
/// the last window, and what the last fetch cost, which in replays is rows.
void FeatureMaker::faithful(const Observation& o) {
    const ClassifierRecord record = classifier_record(o);
    const std::array<double, faithful_names.size()> values{
        number(o.sizes.batch),
        number(o.sizes.vertices),
        number(o.sizes.own_vertices),
        number(o.halo),
        number(o.setting.capacity),
        number(o.step),
        number(o.rows.replacement),
        record.hit_rate,
        record.fetch,
    };
    std::ranges::copy(values, values_.begin());
}

}  // namespace rudder::steer
