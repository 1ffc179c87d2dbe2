#include "harm_watch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace rudder::steer {

void PairedCosts::add(double cost, double reference) noexcept {
    if (known_.count() != 0) {
        const double x = (cost - reference) / std::max(std::abs(known_.value()), 1e-9);
        alarm_.add(-x / scale_.now());
        scale_.add(x);
    }
    known_.add(reference);
    difference_.add(cost - reference);
    reference_.add(reference);
}

void PairedCosts::begin_block() noexcept {
    difference_ = {};
    reference_ = {};
}

bool PairedCosts::worse(double share, double rarely) const noexcept {
    return difference() > share * std::abs(reference()) && alarm_.sum() >= rarely;
}

void HarmWatch::changed(std::uint64_t step) {
    change_ = step;
    good_ = 0;
    rows_.clear();
    in_pair_ = 0;
    twin_ = built_in_ = 0;
    before_ = {};
    after_ = {};
    time_scale_ = {1, 0.01, 0.3};
    slow_ = Wager();
    fast_ = Wager();
    timing_ = cost_ == CostKind::seconds;
    for (const double seconds : recent_)
        before_.add(seconds);
}

void HarmWatch::rows(double twin, double built_in) {
    static_assert(block % paired == 0);
    twin_ += twin / paired;
    built_in_ += built_in / paired;
    if (++in_pair_ < paired) return;
    in_pair_ = 0;
    rows_.add(std::exchange(twin_, 0), std::exchange(built_in_, 0));
    if (rows_.count() < block / paired) return;
    const bool more = rows_.worse(tolerated, rarely);
    if (more && !(cost_ == CostKind::seconds && faster())) {
        verdict_ = fmt::format("{:.1f} % more rows than the built-in rule over {} steps",
                               100 * rows_.difference() / rows_.reference(), block);
        rows_.clear();
        return;
    }
    ++good_;
    rows_.begin_block();
}

bool HarmWatch::faster() const {
    if (before_.count() < block / 2 || after_.count() < block / 2) return false;
    return after_.value() < before_.value() && fast_.capital() >= 1 / fast_wrongly;
}

void HarmWatch::step_seconds(std::uint64_t step, double seconds) {
    recent_.push_back(seconds);
    if (recent_.size() > block) recent_.pop_front();
    if (!timing_ || step < change_ || before_.count() < block / 2) return;
    after_.add(seconds);
    const double longer = seconds / std::max(before_.value(), 1e-12) - 1;
    slow_.add((tolerated_time - longer) / time_scale_.now());
    fast_.add(longer / time_scale_.now());
    time_scale_.add(longer);
    if (after_.count() < block) return;
    timing_ = false;
    const double slower = after_.value() - before_.value();
    if (slower > tolerated_time * before_.value() && slow_.capital() >= 1 / wrongly)
        verdict_ = fmt::format("steps took {:.1f} % longer", 100 * slower / before_.value());
}

std::optional<std::string> HarmWatch::verdict() {
    return std::exchange(verdict_, {});
}

}  // namespace rudder::steer
