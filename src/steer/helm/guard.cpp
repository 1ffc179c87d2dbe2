#include "guard.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace rudder::steer {

void Breaker::succeeded() noexcept {
    failures_ = 0;
    pause_ = first_pause;
}

bool Breaker::failed(std::uint64_t step) {
    // What comes back while it is open was asked before it opened.
    if (!closed(step) || ++failures_ < most_failures) return false;
    open(step, fmt::format("{} failed answers", most_failures));
    return true;
}

void Breaker::open(std::uint64_t step, std::string reason) {
    if (!closed(step)) return;
    failures_ = most_failures - 1;
    open_until_ = step + pause_;
    pause_ = std::min(2 * pause_, longest_pause);
    ++openings_;
    reason_ = std::move(reason);
}

void Guard::changed(std::uint64_t step, std::optional<Setting> undoable) {
    harm_.changed(step);
    before_change_ = std::move(undoable);
}

std::optional<GuardFinding> Guard::find(std::uint64_t step, const Setting& now,
                                        const Setting& fallback, bool decides, bool busy) {
    const auto verdict = harm_.verdict();
    if (!verdict || !overrules_ || suspended_ || busy) return std::nullopt;
    const bool recent = before_change_ && harm_.good_blocks() == 0;
    const Setting target = recent ? *before_change_ : fallback;
    if (decides && (target == now || !recent)) {
        // Its single decisions are to blame, not a setting.
        if (!blame(step, *verdict)) return std::nullopt;
        before_change_.reset();
        return GuardFinding{.reason = breaker_.reason()};
    }
    if (target == now) return std::nullopt;
    before_change_.reset();
    return GuardFinding{.reason = *verdict, .back_to = target};
}

/// The third such block in a row opens the breaker: each answer by itself was valid, so they do not
/// count as failures to answer.
bool Guard::blame(std::uint64_t step, const std::string& why) {
    if (harm_.good_blocks() != good_before_) harmful_ = 0;
    good_before_ = harm_.good_blocks();
    if (++harmful_ < Breaker::most_failures) return false;
    harmful_ = 0;
    breaker_.open(step, fmt::format("worse than the built-in rule: {}", why));
    suspended_ = true;
    return true;
}

void Guard::suspend(std::uint64_t step, const std::string& why) {
    breaker_.open(step, why);
    suspended_ = true;
    before_change_.reset();
}

bool Guard::failed(std::uint64_t step) {
    if (!breaker_.failed(step)) return false;
    suspended_ = true;
    before_change_.reset();
    return true;
}

bool Guard::recovered() noexcept {
    return std::exchange(suspended_, false);
}

std::string suspension_text(std::string_view agent, const Breaker& breaker,
                            const buffer::PolicySpec& built_in) {
    return fmt::format("agent '{}' suspended ({}); using {} until step {}", agent, breaker.reason(),
                       built_in.text(), breaker.open_until());
}

}  // namespace rudder::steer
