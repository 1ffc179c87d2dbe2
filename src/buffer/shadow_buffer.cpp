#include "shadow_buffer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rudder/core/check.hpp"

namespace rudder::buffer {

ShadowBuffer::ShadowBuffer(const PolicySpec& spec, std::shared_ptr<const ShadowFeed> feed,
                           SlotId slots, SlotId capacity, std::uint64_t first_step)
    : feed_(std::move(feed)),
      buffer_(std::make_unique<IdBuffer>(spec, feed_->facts(), feed_->scaled(slots),
                                         feed_->scaled(capacity), first_step)) {}

ShadowBuffer::ShadowBuffer(const ShadowBuffer& other)
    : feed_(other.feed_),
      steps_(other.steps_),
      seen_(other.seen_),
      followed_(other.followed_),
      buffer_(other.buffer_->clone()) {}

std::unique_ptr<ShadowBuffer> ShadowBuffer::clone() const {
    return std::unique_ptr<ShadowBuffer>(new ShadowBuffer(*this));
}

void ShadowBuffer::advance(const Decision& decision) {
    const std::uint64_t next = buffer_->next_step();
    for (std::uint64_t step = next + steps_.size();
         step < feed_->end() && step - next <= buffer_->horizon(); ++step) {
        steps_.push_back(feed_->step(step));
        buffer_->publish(step, steps_.back()->rows);
    }
    RUDDER_CHECK(!steps_.empty());
    buffer_->advance(decision);
    seen_ += steps_.front()->size;
    followed_ += steps_.front()->rows.size();
    steps_.pop_front();
}

void ShadowBuffer::set_capacity(SlotId capacity) {
    buffer_->set_capacity(std::min(feed_->scaled(capacity), buffer_->residents().slots()));
}

Rows ShadowBuffer::estimated() const noexcept {
    // By what share of the rows was really followed: less noisy than the nominal one.
    const double scale = followed_ == 0
                             ? static_cast<double>(feed_->options().sample)
                             : static_cast<double>(seen_) / static_cast<double>(followed_);
    const auto grown = [&](std::uint64_t count) {
        return static_cast<std::uint64_t>(std::llround(static_cast<double>(count) * scale));
    };
    const Rows& c = counted();
    Rows all;
    all.steps = c.steps;
    all.needed = seen_;
    all.hit = grown(c.hit);
    all.demand = seen_ - std::min(seen_, all.hit);
    all.replacement = grown(c.replacement);
    all.ahead = grown(c.ahead);
    all.wasted = grown(c.wasted);
    return all;
}

}  // namespace rudder::buffer
