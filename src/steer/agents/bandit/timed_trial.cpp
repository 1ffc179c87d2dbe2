#include "timed_trial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace rudder::steer {

namespace {

constexpr double least_timed_gain = 0.01;
constexpr double no_time = 0.04;
constexpr double time_noise_floor = 0.005;  ///< of one sample

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// Distances from the median of each side, together.
double spread(const std::vector<double>& a, const std::vector<double>& b) {
    std::vector<double> apart;
    for (const auto* side : {&a, &b}) {
        const double middle = median(*side);
        for (const double x : *side)
            apart.push_back(std::abs(x - middle));
    }
    // Two samples lie as far from their median as each other: a mean loses none of them.
    double sum = 0;
    for (const double x : apart)
        sum += x;
    return 1.25 * std::max(1.48 * median(apart), sum / static_cast<double>(apart.size()));
}

}  // namespace

TimedTrial::TimedTrial(Choice other, const std::deque<double>& before) : other_(std::move(other)) {
    const std::size_t first = before.size() > 6 ? before.size() - 6 : 0;
    ours_.assign(before.begin() + static_cast<std::ptrdiff_t>(first), before.end());
}

bool TimedTrial::add(double seconds) {
    (in_other_ ? theirs_ : ours_).push_back(seconds);
    if (++in_stretch_ < stretch) return false;
    in_stretch_ = 0;
    if (in_other_) {
        ++stretches_;
        judge();
    }
    in_other_ = !in_other_;
    return true;
}

void TimedTrial::judge() {
    const double a = median(ours_);
    const double b = median(theirs_);
    if (a <= 0) return;
    difference_ = (b - a) / a;
    const double share =
        1 / static_cast<double>(ours_.size()) + 1 / static_cast<double>(theirs_.size());
    error_ = std::max(spread(ours_, theirs_) / a, time_noise_floor) * 1.25 * std::sqrt(share);
    constexpr std::array<double, most_stretches> sigmas{5, 3.5, 3, 2.5};
    const double z = sigmas[stretches_ - 1];
    const double least = stretches_ == 1 ? no_time : least_timed_gain;
    if (-difference_ > least && -difference_ > z * error_) {
        verdict_ = TrialVerdict::better;
    } else if (difference_ > least_timed_gain && difference_ > 2 * error_) {
        verdict_ = TrialVerdict::worse;
    } else if (stretches_ == most_stretches ||
               (stretches_ >= 2 && -difference_ < least_timed_gain)) {
        // Trying costs real time: what is not faster after two stretches is left.
        verdict_ = TrialVerdict::no_better;
    }
}

}  // namespace rudder::steer
