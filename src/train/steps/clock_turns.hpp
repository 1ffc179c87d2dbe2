// Whose turn it is to try something on the clock.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace rudder::train {

/// One agent of a job at a time: two that change what the network carries would time each other's
/// changes. Every rank keeps this from the wishes that all ranks learn with the gradients of a
/// step, so that all agree and nobody has to be asked.
class ClockTurns {
public:
    /// By rank: above 0 where its agent wants the turn, or has it and is not done. Who has it keeps
    /// it; else the next rank that wants it, going round.
    void update(std::span<const float> wishes) noexcept;
    [[nodiscard]] std::optional<std::size_t> holder() const noexcept { return holder_; }

private:
    std::optional<std::size_t> holder_;
    std::size_t last_ = 0;  ///< who had it before, or first of all
};

}  // namespace rudder::train
