#include "step_turns.hpp"

#include <algorithm>

namespace rudder::buffer {

void StepTurns::published(std::uint64_t end) {
    Monitor::Lock lock(monitor_);
    published_ = std::max(published_, end);
    monitor_.notify_all();
}

void StepTurns::wanted(int member, std::uint64_t step) {
    Monitor::Lock lock(monitor_);
    std::uint64_t& mine = wanted_[static_cast<std::size_t>(member)];
    mine = std::max(mine, step + 1);
    monitor_.notify_all();
}

void StepTurns::looked(int member, std::uint64_t step) {
    Monitor::Lock lock(monitor_);
    std::uint64_t& mine = looked_[static_cast<std::size_t>(member)];
    mine = std::max(mine, step);
    monitor_.notify_all();
}

void StepTurns::halt() {
    Monitor::Lock lock(monitor_);
    halted_ = true;
    monitor_.notify_all();
}

void StepTurns::fail(const std::exception_ptr& error) {
    Monitor::Lock lock(monitor_);
    if (failure_ == nullptr) failure_ = error;
    monitor_.notify_all();
}

bool StepTurns::turn(std::uint64_t step) const {
    return next_ == step && published_ > step &&
           std::all_of(wanted_.begin() + (wanted_.empty() ? 0 : 1), wanted_.end(),
                       [step](std::uint64_t end) { return end > step; });
}

/// Who wants a step has published it.
bool StepTurns::seen(std::uint64_t step, std::uint64_t ahead) const {
    return ahead == 0 || std::all_of(looked_.begin() + (looked_.empty() ? 0 : 1), looked_.end(),
                                     [&](std::uint64_t to) { return to >= step + ahead; });
}

bool StepTurns::wait(std::uint64_t step, std::uint64_t ahead) {
    Monitor::Lock lock(monitor_);
    monitor_.wait(lock, "the buffer's turn", [&] {
        return halted_ || failure_ != nullptr || (turn(step) && seen(step, ahead));
    });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return !halted_;
}

void StepTurns::begun() {
    Monitor::Lock lock(monitor_);
    ++next_;
    monitor_.notify_all();
}

}  // namespace rudder::buffer
