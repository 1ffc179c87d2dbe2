// What the helm keeps from step to step.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "rudder/core/executor/monitor.hpp"
#include "rudder/steer/helm.hpp"

#include "guard.hpp"
#include "harm_watch.hpp"
#include "judge.hpp"
#include "shadows.hpp"

namespace rudder::steer {

/// An answer that is to take effect.
struct PendingAnswer {
    Answer answer;
    std::uint64_t record = 0;  ///< its number
    std::uint64_t effective_step = 0;
};

/// A record that may still change.
struct OpenRecord {
    std::uint64_t number = 0;
    DecisionRecord record;
    bool judged = false;   ///< an outcome will come
    bool watched = false;  ///< may still be undone
};

struct Helm::State {
    explicit State(HelmOptions given);

    std::atomic<std::uint64_t> cpu{0};  ///< nanoseconds
    HelmOptions o;
    std::unique_ptr<Agent> agent;  ///< none: a follower
    Mailbox box;
    Task task;

    Monitor monitor;  ///< guards what follows
    std::optional<Shadows> shadows;
    std::optional<Judge> judge;
    std::optional<HarmWatch> harm;
    Setting now;                     ///< of the real buffer
    buffer::PolicySpec built_in;     ///< the rule to fall back to
    buffer::RowAccounts accounts;    ///< of the real buffer
    buffer::RowAccounts marked;      ///< at the last observation
    buffer::RowAccounts others;      ///< of other buffers that follow, since the last observation
    buffer::RowAccounts all_others;  ///< since the start
    StretchSeconds seconds;          ///< since the last observation
    double stall = 0;                ///< since the last step that was judged
    std::vector<std::uint64_t> rows_by_owner;
    std::uint64_t next_question = 0;  ///< the step
    std::uint64_t sequence = 0;
    std::uint64_t changed_at = 0;
    std::shared_ptr<const Observation> asked;  ///< and not dealt with
    std::optional<Reply> reply;                ///< of a plain call, or waited for
    std::deque<PendingAnswer> outgoing;        ///< waits to be sent
    std::deque<PendingAnswer> due;             ///< waits for its step
    std::optional<Setting> before_change;      ///< of the last change
    Breaker breaker;
    bool fallen = false;            ///< the breaker has put the built-in rule in place
    std::uint32_t harmful = 0;      ///< blocks in a row in which its decisions did harm
    std::uint64_t good_before = 0;  ///< good blocks there were at the last of them
    std::deque<PastDecision> history;
    std::deque<OpenRecord> open;
    std::uint64_t recorded = 0;
    HelmTotals totals;

    // helm.cpp: questions.
    [[nodiscard]] std::shared_ptr<const Observation> question(std::uint64_t step);
    [[nodiscard]] Observation observe(std::uint64_t step);
    [[nodiscard]] ShadowReading reading(Shadow& shadow) const;
    [[nodiscard]] Reply answer_to(const Observation& observation);
    void work();

    // helm_answers.cpp: what becomes of answers.
    void receive(std::uint64_t step, buffer::BufferControl& control);
    void late(std::uint64_t step, buffer::BufferControl& control);
    void take(Reply reply, std::uint64_t step, buffer::BufferControl& control);
    void check_to_send(const Action& action) const;
    buffer::Decision apply_due(std::uint64_t step, buffer::BufferControl& control);
    buffer::Decision apply(PendingAnswer& pending, std::uint64_t step,
                           buffer::BufferControl& control);
    buffer::Decision decide(const Action& action, OpenRecord* record);
    void change(const Action& action, OpenRecord* record, std::uint64_t step,
                buffer::BufferControl& control);
    void put(const Setting& setting, std::uint64_t step, buffer::BufferControl& control);
    void put_everywhere(const Setting& setting, Reason why, std::uint64_t step,
                        buffer::BufferControl& control);
    void follow(const ShadowOrder& order);
    void guard(std::uint64_t step, buffer::BufferControl& control);
    void blame(std::uint64_t step, buffer::BufferControl& control);
    void fail(std::uint64_t step, buffer::BufferControl& control);
    void recover(std::uint64_t step, buffer::BufferControl& control);
    [[nodiscard]] Setting fallback() const;
    void fork_built_in();

    // helm_records.cpp: what is written down.
    OpenRecord& note(const Observation& observation, const Reply& reply, std::uint64_t step);
    [[nodiscard]] OpenRecord* find(std::uint64_t number);
    void settle();
    void give_up();
    void close(OpenRecord& record, DecisionStatus status, std::string problem);
};

}  // namespace rudder::steer
