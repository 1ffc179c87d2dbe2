#include "harm_watch.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace rudder::steer {

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
