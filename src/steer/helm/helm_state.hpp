// What the helm is made of: the parts, and how the real buffer is set.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/executor/monitor.hpp"
#include "rudder/steer/agent.hpp"
#include "rudder/steer/observation.hpp"

#include "guard.hpp"
#include "helm.hpp"
#include "helm_shadows.hpp"
#include "questions.hpp"
#include "records.hpp"

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

class HelmCounts {
public:
    /// The accounts of the real buffer after a step. What the step added.
    Rows step(const Rows& accounts);
    void timed(const Seconds& seconds, std::span<const std::uint64_t> rows_by_owner);
    /// Of other buffers, in a step that is counted here.
    void elsewhere(Rows rows, Seconds seconds);
    /// Seconds of stall since it was asked last.
    [[nodiscard]] double take_stall();
    /// What an observation shows, since it did so last.
    void show(Observation& seen);

private:
    Rows accounts_;    ///< of the real buffer
    Rows marked_;      ///< at the last observation
    Rows others_;      ///< of other buffers that follow, since the last observation
    Rows all_others_;  ///< since the start
    Seconds seconds_;  ///< since the last observation
    double stall_ = 0;
    std::vector<std::uint64_t> rows_by_owner_;
};

struct Helm::State {
    explicit State(HelmOptions given);

    std::atomic<std::uint64_t> cpu{0};         ///< nanoseconds
    std::atomic<std::uint64_t> shadow_cpu{0};  ///< those of the agent's own shadows, of that
    HelmOptions o;
    std::optional<Questions> questions;  ///< none: a follower

    Monitor monitor;  ///< guards what follows
    buffer::PolicyFacts facts;
    buffer::ShadowScan scan;             ///< of what shadows and rivals follow
    std::optional<HelmShadows> shadows;  ///< none: a follower, or not started
    std::optional<ClassWatch> rivals;    ///< where that is wanted
    Guard guard;
    HelmCounts counts;
    HelmRecords records;
    PendingAnswers pending;
    Setting now;                   ///< of the real buffer
    Setting before_put;            ///< how it was set before the last change
    std::uint64_t put_record = 0;  ///< of which decision that was; 0: of none
    std::optional<buffer::GuardAccount> account;
    std::uint64_t changed_at = 0;     ///< the step
    bool clock_turn = true;           ///< no other agent tries something on the clock
    bool wants_clock = false;         ///< this one does, or would
    buffer::PilotOrder order;         ///< what is to be done before the step under way
    std::vector<std::string> infos;   ///< to be logged once the lock is gone
    std::vector<std::string> alarms;  ///< likewise, as warnings

    [[nodiscard]] Observation observe(std::uint64_t step);
    [[nodiscard]] Setting fallback() const;

    // helm_answers.cpp: what becomes of answers, in the step under way.
    void receive(std::uint64_t step);
    void accept(PendingAnswer answer, OpenRecord& record, std::uint64_t step);
    void apply_due(std::uint64_t step);
    void apply(PendingAnswer& answer, std::uint64_t step);
    void keep_division(const Action& action);
    void decide(const Action& action, OpenRecord* record);
    void change(const Action& action, OpenRecord* record, std::uint64_t step);
    /// Puts a setting in place: in the order for the real buffer, and in its twin. What cannot be
    /// is refused before anything has changed.
    void put(const Setting& setting, std::uint64_t step, std::optional<Setting> undoable = {});
    /// The same in all buffers that are steered, at one step.
    void put_everywhere(const Setting& setting, Reason why, std::uint64_t step);
    void take_back(std::uint64_t step);
    /// What the account did not allow.
    void overruled(std::uint64_t step, const buffer::Overruled& what);
    /// There is less memory.
    void limited(std::uint64_t step, buffer::SlotId most);
    void fail(std::uint64_t step);
    void suspend(std::uint64_t step);
    void recover(std::uint64_t step);
    void give_up();
};

}  // namespace rudder::steer
