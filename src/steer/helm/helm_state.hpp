// What the helm is made of: the parts, and how the real buffer is set.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "core/executor/monitor.hpp"

#include "guard.hpp"
#include "helm.hpp"
#include "helm_counts.hpp"
#include "helm_shadows.hpp"
#include "pending.hpp"
#include "questions.hpp"
#include "records.hpp"

namespace rudder::steer {

struct Helm::State {
    explicit State(HelmOptions given);

    std::atomic<std::uint64_t> cpu{0};  ///< nanoseconds
    HelmOptions o;
    std::optional<Questions> questions;  ///< none: a follower

    Monitor monitor;  ///< guards what follows
    buffer::PolicyFacts facts;
    std::optional<HelmShadows> shadows;  ///< none: a follower, or not started
    Guard guard;
    HelmCounts counts;
    HelmRecords records;
    PendingAnswers pending;
    Setting now;                      ///< of the real buffer
    std::uint64_t changed_at = 0;     ///< the step
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
    void decide(const Action& action, OpenRecord* record);
    void change(const Action& action, OpenRecord* record, std::uint64_t step);
    /// Puts a setting in place: in the order for the real buffer, and in its twin. What cannot be
    /// is refused before anything has changed.
    void put(const Setting& setting, std::uint64_t step, std::optional<Setting> undoable = {});
    /// The same in all buffers that are steered, at one step.
    void put_everywhere(const Setting& setting, Reason why, std::uint64_t step);
    void take_back(std::uint64_t step);
    void fail(std::uint64_t step);
    void suspend(std::uint64_t step);
    void recover(std::uint64_t step);
    void give_up();
};

}  // namespace rudder::steer
