// Answers on their way to the step at which they take effect.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "rudder/steer/agent.hpp"

namespace rudder::steer {

struct PendingAnswer {
    Answer answer;
    std::uint64_t record = 0;  ///< its number; 0: none
    std::uint64_t effective_step = 0;
};

/// Answers that other buffers follow wait to be sent, and then for their step; others for their
/// step alone.
class PendingAnswers {
public:
    [[nodiscard]] bool empty() const noexcept { return outgoing_.empty() && due_.empty(); }
    void add(PendingAnswer answer) { due_.push_back(std::move(answer)); }
    void add_outgoing(PendingAnswer answer) { outgoing_.push_back(std::move(answer)); }
    /// The one that waits longest to be sent; it is to take effect at that step. Null: none.
    PendingAnswer* send(std::uint64_t effective_step) {
        if (outgoing_.empty()) return nullptr;
        PendingAnswer& sent = due_.emplace_back(std::move(outgoing_.front()));
        outgoing_.pop_front();
        sent.effective_step = effective_step;
        return &sent;
    }
    /// The next that takes effect at this step.
    [[nodiscard]] std::optional<PendingAnswer> take(std::uint64_t step) {
        if (due_.empty() || due_.front().effective_step > step) return std::nullopt;
        return pop(due_);
    }
    /// Any of them: its step does not come.
    [[nodiscard]] std::optional<PendingAnswer> give_up() {
        if (!due_.empty()) return pop(due_);
        return outgoing_.empty() ? std::nullopt : pop(outgoing_);
    }

private:
    static std::optional<PendingAnswer> pop(std::deque<PendingAnswer>& from) {
        std::optional<PendingAnswer> first(std::move(from.front()));
        from.pop_front();
        return first;
    }

    std::deque<PendingAnswer> outgoing_;
    std::deque<PendingAnswer> due_;
};

}  // namespace rudder::steer
