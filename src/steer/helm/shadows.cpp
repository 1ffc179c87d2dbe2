#include "shadows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/cpu_meter.hpp"

namespace rudder::steer {

namespace {

/// Steps that one takes at a time until it is as far ahead as it may be.
constexpr std::uint64_t at_a_time = 4;

}  // namespace

Shadows::Shadows(const buffer::PolicyFacts& facts, std::uint32_t sample, buffer::SlotId slots,
                 std::uint64_t first_step)
    : feed_(std::make_shared<buffer::ShadowFeed>(facts, buffer::ShadowOptions{.sample = sample},
                                                 first_step)),
      slots_(slots),
      next_(first_step) {}

void Shadows::publish(std::uint64_t step, std::span<const buffer::RowKey> rows) {
    feed_->publish(step, rows);
}

void Shadows::advance() {
    const buffer::ShadowFeed::Step& step = *feed_->step(next_);
    needed_ += static_cast<double>(step.size);
    followed_ += static_cast<double>(step.rows.size());
    const std::uint64_t known = known_ahead();
    const auto advance_all = [&](bool of_agent) {
        for (const auto& shadow : all_)
            if ((shadow->role == ShadowRole::agent) == of_agent) advance(*shadow, known);
    };
    advance_all(false);
    const bool agents = std::ranges::any_of(
        all_, [](const auto& shadow) { return shadow->role == ShadowRole::agent; });
    if (agents && cpu_ != nullptr) {
        const CpuMeter meter(*cpu_);
        advance_all(true);
    } else if (agents) {
        advance_all(true);
    }
    feed_->forget(++next_);
}

void Shadows::advance(Shadow& shadow, std::uint64_t known) {
    const std::uint64_t until = std::max(next_ + 1, std::min(wanted(shadow), known));
    while (shadow.next_step() < until) {
        const std::uint64_t before = shadow.counted().fetched();
        shadow.buffer->advance(std::exchange(shadow.decision, {}));
        if (shadow.role == ShadowRole::agent)
            shadow.by_step.push_back(shadow.counted().fetched() - before);
    }
}

std::uint64_t Shadows::wanted(const Shadow& shadow) const {
    return std::min(shadow.next_step() + at_a_time, next_ + 1 + shadow.ahead);
}

std::uint64_t Shadows::horizon_ahead() const {
    std::uint64_t longest = 0;
    for (const auto& shadow : all_) {
        if (shadow->ahead != 0) longest = std::max(longest, shadow->buffer->horizon());
    }
    return longest;
}

std::uint64_t Shadows::known_ahead() const {
    const std::uint64_t end = feed_->end();
    const std::uint64_t steps = feed_->facts().steps;
    if (steps != 0 && end >= steps) return end;
    return end - std::min(end, horizon_ahead());
}

/// One of the same name goes once its successor is there, which may have been copied from it.
Shadow& Shadows::add(std::unique_ptr<Shadow> made) {
    if (made->role == ShadowRole::agent) {
        if (const Shadow* before = find(made->name)) close(*before);
    }
    return *all_.emplace_back(std::move(made));
}

Shadow& Shadows::open(ShadowRole role, const Setting& setting, const std::string& name,
                      std::uint64_t ahead) {
    auto made = std::make_unique<Shadow>(
        Shadow{.role = role, .name = name, .setting = setting, .opened = next_, .ahead = ahead});
    const auto capacity =
        static_cast<buffer::SlotId>(std::min<std::uint64_t>(setting.capacity, slots_));
    made->buffer =
        std::make_unique<buffer::ShadowBuffer>(setting.policy, feed_, slots_, capacity, next_);
    return add(std::move(made));
}

Shadow& Shadows::copy(ShadowRole role, const Shadow& from, const std::string& name,
                      std::uint64_t ahead) {
    return add(std::make_unique<Shadow>(Shadow{.role = role,
                                               .name = name,
                                               .setting = from.setting,
                                               .opened = from.next_step(),
                                               .decision = from.decision,
                                               .base = from.counted(),
                                               .marked = from.counted(),
                                               .ahead = ahead,
                                               .buffer = from.buffer->clone()}));
}

void Shadows::set(Shadow& shadow, const Setting& setting) {
    if (setting.policy != shadow.setting.policy) shadow.buffer->set_policy(setting.policy);
    if (setting.capacity != shadow.setting.capacity) {
        shadow.buffer->set_capacity(
            static_cast<buffer::SlotId>(std::min<std::uint64_t>(setting.capacity, slots_)));
    }
    shadow.setting = setting;
}

void Shadows::close(const Shadow& shadow) {
    std::erase_if(all_, [&](const auto& one) { return one.get() == &shadow; });
}

Shadow* Shadows::find(std::string_view name) {
    const auto found = std::ranges::find_if(all_, [&](const auto& shadow) {
        return shadow->role == ShadowRole::agent && shadow->name == name;
    });
    return found == all_.end() ? nullptr : found->get();
}

std::uint64_t Shadows::horizon() const {
    std::uint64_t longest = 0;
    const std::uint64_t of_ahead = horizon_ahead();
    for (const auto& shadow : all_) {
        const bool ahead = shadow->ahead != 0;
        const std::uint64_t seen = ahead ? of_ahead : shadow->buffer->horizon();
        longest = std::max(longest, seen + (ahead ? wanted(*shadow) - next_ - 1 : 0));
    }
    return longest;
}

double Shadows::scale() const {
    return followed_ == 0 ? static_cast<double>(feed_->options().sample) : needed_ / followed_;
}

std::uint64_t Shadows::bytes() const {
    std::uint64_t bytes = feed_->bytes();
    for (const auto& shadow : all_)
        bytes += shadow->buffer->bytes();
    return bytes;
}

Rows scaled(const Rows& counted, double scale) noexcept {
    const auto grown = [scale](std::uint64_t count) {
        return static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * scale));
    };
    Rows all;
    all.steps = counted.steps;
    all.hit = grown(counted.hit);
    all.demand = grown(counted.demand);
    all.needed = all.hit + all.demand;
    all.replacement = grown(counted.replacement);
    all.ahead = grown(counted.ahead);
    all.wasted = grown(counted.wasted);
    return all;
}

}  // namespace rudder::steer
