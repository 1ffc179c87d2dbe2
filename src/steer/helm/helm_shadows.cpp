#include "helm_shadows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "buffer/shadow_feed.hpp"
#include "rudder/core/error.hpp"

namespace rudder::steer {

namespace {

constexpr std::size_t most_shadows = 16;      ///< that an agent may have
constexpr std::uint64_t farthest_ahead = 64;  ///< steps that one may be ahead

}  // namespace

HelmShadows::HelmShadows(const HelmOptions& options, const buffer::PolicyFacts& facts,
                         buffer::SlotId slots, std::uint64_t first_step, const Setting& now,
                         const Setting& fallback, buffer::ShadowScan& scan)
    : shadows_(facts, buffer::sample_for(slots, options.sample), slots, first_step),
      judge_(shadows_, fallback.policy,
             Judge::Rules{options.horizon, options.set_horizon, options.judged_at_once}),
      fallback_(fallback),
      twin_(&shadows_.open(ShadowRole::twin, now)) {
    if (now.policy != fallback.policy) fork_built_in();
    scan.add(shadows_.feed());
}

void HelmShadows::fork_built_in() {
    if (built_in_ != nullptr) return;
    Shadow& made = shadows_.copy(ShadowRole::built_in, *twin_);
    shadows_.set(made, fallback_);
    built_in_ = &made;
}

void HelmShadows::go_back() {
    if (built_in_ == nullptr) return;
    shadows_.close(*twin_);
    twin_ = built_in_;
    twin_->role = ShadowRole::twin;
    built_in_ = nullptr;
}

void HelmShadows::limit(const Setting& now, const Setting& fallback) {
    fallback_ = fallback;
    if (now.policy == fallback.policy) go_back();
    shadows_.set(*twin_, now);
    if (built_in_ != nullptr) shadows_.set(*built_in_, fallback);
}

bool HelmShadows::decide(std::optional<std::uint64_t> number, const buffer::Decision& taken) {
    const bool judged = number && judge_.free();
    if (judged) judge_.replacing(*number, *twin_, taken);
    twin_->decision = taken;
    return judged;
}

bool HelmShadows::change(std::optional<std::uint64_t> number, const Setting& next) {
    fork_built_in();
    const Setting& now = twin_->setting;
    const bool same = next.policy == now.policy && next.capacity == now.capacity;
    if (!number || same || !judge_.free()) return false;
    judge_.setting(*number, *twin_, next);
    return true;
}

void HelmShadows::follow(const ShadowOrder& order) {
    if (order.name.empty() || order.name.starts_with('~')) {
        throw usage_error(fmt::format("invalid name of a shadow: '{}'", order.name), "shadows",
                          "begin it with a letter");
    }
    using enum ShadowOrder::Kind;
    if ((order.kind == open || order.kind == copy) && order.setting) return follow_anew(order);
    Shadow* known = shadows_.find(order.name);
    if (known == nullptr) return;
    if (order.kind == set && order.setting) shadows_.set(*known, *order.setting);
    if (order.kind == replace) known->decision = {true, order.fraction};
    if (order.kind == close) shadows_.close(*known);
}

/// Opens or copies one.
void HelmShadows::follow_anew(const ShadowOrder& order) {
    const auto of_agent = std::ranges::count_if(
        shadows_.all(), [](const auto& shadow) { return shadow->role == ShadowRole::agent; });
    if (shadows_.find(order.name) == nullptr &&
        of_agent >= static_cast<std::ptrdiff_t>(most_shadows)) {
        throw usage_error(fmt::format("more than {} shadows", most_shadows), "shadows",
                          "close one first");
    }
    const std::uint64_t ahead = std::min(order.ahead, farthest_ahead);
    if (order.kind == ShadowOrder::Kind::open) {
        shadows_.open(ShadowRole::agent, *order.setting, order.name, ahead);
        return;
    }
    const Shadow* from = order.from.empty() ? twin_ : shadows_.find(order.from);
    if (from == nullptr) {
        throw usage_error(fmt::format("no shadow '{}' to copy", order.from), "shadows",
                          "open it first");
    }
    shadows_.set(shadows_.copy(ShadowRole::agent, *from, order.name, ahead), *order.setting);
}

ShadowRows HelmShadows::advance(const Rows& real, double stall_seconds) {
    const auto fetched = [](const Shadow* shadow) {
        return shadow == nullptr ? 0.0 : static_cast<double>(shadow->counted().fetched());
    };
    const double twin = fetched(twin_);
    const double built_in = fetched(built_in_);
    shadows_.advance();
    ShadowRows rows;
    rows.apart = built_in_ != nullptr;
    rows.twin = (fetched(twin_) - twin) * shadows_.scale();
    rows.built_in = rows.apart ? (fetched(built_in_) - built_in) * shadows_.scale() : rows.twin;
    judge_.advanced(static_cast<double>(real.hit), static_cast<double>(real.needed), stall_seconds);
    return rows;
}

void HelmShadows::show(Observation& seen) {
    if (seen.takes_decisions) {
        // Of the twin, which knows the sample alone.
        const auto rows = static_cast<double>(twin_->buffer->replaceable());
        seen.candidates = static_cast<std::uint64_t>(std::llround(rows * shadows_.scale()));
    }
    seen.twin = reading(*twin_);
    seen.twin.name = "~twin";
    seen.built_in = built_in_ == nullptr ? seen.twin : reading(*built_in_);
    if (built_in_ != nullptr) seen.built_in.name = "~built-in";
    for (const auto& shadow : shadows_.all()) {
        if (shadow->role == ShadowRole::agent) seen.shadows.push_back(reading(*shadow));
    }
}

ShadowReading HelmShadows::reading(Shadow& shadow) const {
    ShadowReading read;
    read.name = shadow.name;
    read.setting = shadow.setting;
    read.age = shadow.next_step() - shadow.opened;
    read.rows = scaled(shadow.counted() - shadow.marked, shadows_.scale());
    read.total = scaled(shadow.counted() - shadow.base, shadows_.scale());
    shadow.marked = shadow.counted();
    for (const std::uint64_t rows : std::exchange(shadow.by_step, {}))
        read.by_step.push_back(static_cast<double>(rows) * shadows_.scale());
    return read;
}

}  // namespace rudder::steer
