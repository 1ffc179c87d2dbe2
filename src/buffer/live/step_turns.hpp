// Whose turn it is: steps begin one after the other, each when all ranks know and want it.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include "core/executor/monitor.hpp"

namespace rudder::buffer {

class StepTurns {
public:
    StepTurns(std::uint64_t first_step, std::size_t members)
        : published_(first_step), next_(first_step), wanted_(members, 0), looked_(members, 0) {}

    /// Steps before `end` have been published by all who share the buffer.
    void published(std::uint64_t end);
    /// A member (from 1) asks for a step.
    void wanted(int member, std::uint64_t step);
    /// A member has published the steps up to this one, or as many as it has room for.
    void looked(int member, std::uint64_t step);
    void halt();
    /// Waits fail from now on with the first such error.
    void fail(const std::exception_ptr& error);

    /// Waits for the step's turn, which lasts until `begun`, and for members to have looked so many
    /// steps further; false if halted before.
    [[nodiscard]] bool wait(std::uint64_t step, std::uint64_t ahead = 0);
    /// The step whose turn it is has begun: it is the next one's.
    void begun();

private:
    [[nodiscard]] bool turn(std::uint64_t step) const;
    [[nodiscard]] bool seen(std::uint64_t step, std::uint64_t ahead) const;

    Monitor monitor_;  ///< guards what follows
    std::uint64_t published_;
    std::uint64_t next_;
    std::vector<std::uint64_t> wanted_;  ///< by member: one past
    std::vector<std::uint64_t> looked_;  ///< by member
    bool halted_ = false;
    std::exception_ptr failure_;
};

}  // namespace rudder::buffer
