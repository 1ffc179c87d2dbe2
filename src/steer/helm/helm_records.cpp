// What the helm writes down, and what it adds up to.
#include <algorithm>
#include <iterator>

#include "helm_state.hpp"

namespace rudder::steer {

namespace {

constexpr std::size_t longest_history = 16;

}  // namespace

HelmTotals& HelmTotals::operator+=(const HelmTotals& other) {
    if (agent.empty()) agent = other.agent;
    decisions += other.decisions;
    applied += other.applied;
    kept += other.kept;
    late += other.late;
    invalid += other.invalid;
    refused += other.refused;
    undone += other.undone;
    breaker_openings += other.breaker_openings;
    judged += other.judged;
    correct += other.correct;
    mailbox_seconds += other.mailbox_seconds;
    waited_seconds += other.waited_seconds;
    cpu_seconds += other.cpu_seconds;
    twin_rows += other.twin_rows;
    built_in_rows += other.built_in_rows;
    return *this;
}

/// Begins the record of what came of a question.
OpenRecord& Helm::State::note(const Observation& observation, const Reply& given,
                              std::uint64_t step) {
    ++totals.decisions;
    OpenRecord& made = open.emplace_back();
    made.number = ++recorded;
    DecisionRecord& record = made.record;
    record.observation = observation;
    record.step = observation.step;
    record.rank = o.rank;
    record.agent = o.agent.text();
    record.action = given.answer.action;
    record.forecast = given.answer.forecast;
    record.note = given.answer.note;
    record.effective_step = step;
    record.latency = given.seconds;
    record.run = o.facts.run;
    if (record.action.kind != ActionKind::keep || o.agent.decides()) {
        PastDecision& past = history.emplace_back();
        past.step = observation.step;
        past.action = record.action;
        past.status = to_string(DecisionStatus::applied);
        past.hit_rate_before = observation.hit_rate();
        past.rows_before = static_cast<double>(observation.rows.fetched()) /
                           static_cast<double>(std::max<std::uint64_t>(1, observation.rows.steps));
        if (history.size() > longest_history) history.pop_front();
    }
    return made;
}

OpenRecord* Helm::State::find(std::uint64_t number) {
    const auto found = std::ranges::find(open, number, &OpenRecord::number);
    return found == open.end() ? nullptr : &*found;
}

void Helm::State::close(OpenRecord& record, DecisionStatus status, std::string problem) {
    record.record.status = status;
    record.record.problem = std::move(problem);
    record.watched = false;
    for (PastDecision& past : history) {
        if (past.step == record.record.step) past.status = to_string(status);
    }
}

/// Takes in the verdicts. A change that has held for a block is no longer watched.
void Helm::State::settle() {
    for (const Judge::Verdict& verdict : judge->take()) {
        ++totals.judged;
        totals.correct += verdict.outcome.correct() ? 1U : 0U;
        OpenRecord* record = find(verdict.decision);
        if (record == nullptr) continue;
        record->judged = false;
        record->record.outcome = verdict.outcome;
        for (PastDecision& past : history) {
            if (past.step == record->record.step) past.correct = verdict.outcome.correct();
        }
    }
    if (harm->good_blocks() > 0) {
        for (OpenRecord& record : open)
            record.watched = false;
    }
}

/// What was to take effect at a step that does not come.
void Helm::State::give_up() {
    due.insert(due.end(), std::make_move_iterator(outgoing.begin()),
               std::make_move_iterator(outgoing.end()));
    outgoing.clear();
    for (const PendingAnswer& pending : due) {
        OpenRecord* record = find(pending.record);
        if (record == nullptr) continue;
        close(*record, DecisionStatus::late, "the run ended before its step");
        ++totals.late;
    }
    due.clear();
}

std::vector<DecisionRecord> Helm::take_records(bool all) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    if (all) s.give_up();
    std::vector<DecisionRecord> records;
    while (!s.open.empty() && (all || !(s.open.front().judged || s.open.front().watched))) {
        records.push_back(std::move(s.open.front().record));
        s.open.pop_front();
    }
    return records;
}

}  // namespace rudder::steer
