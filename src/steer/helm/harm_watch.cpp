#include "harm_watch.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace rudder::steer {

void Spread::add(double x) noexcept {
    const double before = x - mean_;
    mean_ += before / static_cast<double>(++count_);
    squares_ += before * (x - mean_);
}

double Spread::error() const noexcept {
    if (count_ < 2) return std::numeric_limits<double>::infinity();
    const auto n = static_cast<double>(count_);
    return std::sqrt(squares_ / (n - 1) / n);
}

void PairedCosts::add(double cost, double reference) noexcept {
    differences_.add(cost - reference);
    reference_sum_ += reference;
}

double PairedCosts::reference() const noexcept {
    return count() == 0 ? 0 : reference_sum_ / static_cast<double>(count());
}

bool PairedCosts::worse(double share, double sigmas) const noexcept {
    return count() >= 2 && difference() > share * std::abs(reference()) &&
           difference() > sigmas * error();
}

bool PairedCosts::better(double share, double sigmas) const noexcept {
    return count() >= 2 && -difference() > share * std::abs(reference()) &&
           -difference() > sigmas * error();
}

void HarmWatch::changed(std::uint64_t step) {
    change_ = step;
    good_ = 0;
    rows_.clear();
    before_ = {};
    after_ = {};
    timing_ = cost_ == CostKind::seconds;
    for (const double seconds : recent_)
        before_.add(seconds);
}

void HarmWatch::rows(double twin, double built_in) {
    rows_.add(twin, built_in);
    if (rows_.count() < block) return;
    const bool more = rows_.worse(tolerated, sigmas);
    if (more && !(cost_ == CostKind::seconds && faster())) {
        verdict_ = fmt::format("{:.1f} % more rows than the built-in rule over {} steps",
                               100 * rows_.difference() / rows_.reference(), rows_.count());
    } else {
        ++good_;
    }
    rows_.clear();
}

bool HarmWatch::faster() const {
    if (before_.count() < block / 2 || after_.count() < block / 2) return false;
    return before_.mean() - after_.mean() > 2 * std::hypot(before_.error(), after_.error());
}

void HarmWatch::step_seconds(std::uint64_t step, double seconds) {
    recent_.push_back(seconds);
    if (recent_.size() > block) recent_.pop_front();
    if (!timing_ || step < change_) return;
    after_.add(seconds);
    if (after_.count() < block || before_.count() < block / 2) return;
    timing_ = false;
    const double slower = after_.mean() - before_.mean();
    if (slower > tolerated_time * before_.mean() &&
        slower > sigmas * std::hypot(before_.error(), after_.error())) {
        verdict_ = fmt::format("steps took {:.1f} % longer", 100 * slower / before_.mean());
    }
}

std::optional<std::string> HarmWatch::verdict() {
    return std::exchange(verdict_, {});
}

}  // namespace rudder::steer
