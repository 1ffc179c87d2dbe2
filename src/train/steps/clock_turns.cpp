#include "clock_turns.hpp"

namespace rudder::train {

void ClockTurns::update(std::span<const float> wishes) noexcept {
    if (holder_ && wishes[*holder_] > 0) return;
    if (holder_) last_ = *holder_ + 1;
    holder_.reset();
    for (std::size_t i = 0; i < wishes.size() && !holder_; ++i) {
        const std::size_t rank = (last_ + i) % wishes.size();
        if (wishes[rank] > 0) holder_ = rank;
    }
}

}  // namespace rudder::train
