#include "records.hpp"

#include <algorithm>
#include <utility>

namespace rudder::steer {

namespace {

constexpr std::size_t longest_history = 16;
/// Records that may wait for one that is not complete.
constexpr std::size_t most_open = 256;

double rows_per_step(const Observation& seen) {
    return static_cast<double>(seen.rows.fetched()) /
           static_cast<double>(std::max<std::uint64_t>(1, seen.rows.steps));
}

}  // namespace

HelmTotals& HelmTotals::operator+=(const HelmTotals& other) {
    if (agent.empty()) agent = other.agent;
    return add_fields(*this, other);
}

HelmTotals counts_of(const DecisionRecord& record) {
    HelmTotals counts;
    counts.decisions = 1;
    const bool undone = record.status == DecisionStatus::undone;
    if (record.status == DecisionStatus::applied || undone)
        ++(record.action.kind == ActionKind::keep ? counts.kept : counts.applied);
    counts.late = record.status == DecisionStatus::late ? 1U : 0U;
    counts.invalid = record.status == DecisionStatus::invalid ? 1U : 0U;
    counts.refused = record.status == DecisionStatus::refused ? 1U : 0U;
    counts.undone = undone ? 1U : 0U;
    counts.judged = record.outcome ? 1U : 0U;
    counts.correct = record.outcome && record.outcome->correct() ? 1U : 0U;
    counts.no_effect = record.outcome && record.outcome->tied() ? 1U : 0U;
    return counts;
}

HelmRecords::HelmRecords(const HelmOptions& options)
    : rank_(options.facts.rank),
      agent_(options.agent.text()),
      run_(options.facts.run),
      decides_(options.agent.decides()) {
    totals.agent = agent_;
}

OpenRecord& HelmRecords::note(const Observation& observation, const Reply& given,
                              std::uint64_t step) {
    ++totals.decisions;
    OpenRecord& made = open_.emplace_back();
    made.number = ++recorded_;
    DecisionRecord& record = made.record;
    record.observation = observation;
    record.step = observation.step;
    record.rank = rank_;
    record.agent = agent_;
    record.action = given.answer.action;
    record.forecast = given.answer.forecast;
    record.note = given.answer.note;
    record.effective_step = step;
    record.latency = given.seconds;
    record.run = run_;
    if (record.action.kind != ActionKind::keep || decides_) {
        PastDecision& past = history_.emplace_back();
        past.step = observation.step;
        past.action = record.action;
        past.status = to_string(DecisionStatus::applied);
        past.hit_rate_before = observation.hit_rate();
        past.rows_before = rows_per_step(observation);
        if (history_.size() > longest_history) history_.pop_front();
    }
    return made;
}

OpenRecord* HelmRecords::find(std::uint64_t number) {
    const auto found = std::ranges::find(open_, number, &OpenRecord::number);
    return found == open_.end() ? nullptr : &*found;
}

void HelmRecords::close(OpenRecord& record, DecisionStatus status, std::string problem) {
    record.record.status = status;
    record.record.problem = std::move(problem);
    record.watched = false;
    for (PastDecision& past : history_) {
        if (past.step == record.record.step) past.status = to_string(status);
    }
}

void HelmRecords::watch(OpenRecord& record) {
    for (OpenRecord& earlier : open_)
        earlier.watched = false;
    record.watched = true;
}

void HelmRecords::undone(const std::string& why) {
    ++totals.undone;
    const auto last = std::find_if(open_.rbegin(), open_.rend(),
                                   [](const OpenRecord& record) { return record.watched; });
    if (last != open_.rend()) close(*last, DecisionStatus::undone, why);
}

void HelmRecords::settle(std::span<const Judge::Verdict> verdicts, bool held) {
    for (const Judge::Verdict& verdict : verdicts) {
        ++totals.judged;
        totals.correct += verdict.outcome.correct() ? 1U : 0U;
        totals.no_effect += verdict.outcome.tied() ? 1U : 0U;
        OpenRecord* record = find(verdict.decision);
        if (record == nullptr) continue;
        record->judged = false;
        record->record.outcome = verdict.outcome;
        for (PastDecision& past : history_) {
            if (past.step != record->record.step) continue;
            past.correct = verdict.outcome.correct();
            past.tied = verdict.outcome.tied();
        }
    }
    if (!held) return;
    for (OpenRecord& record : open_)
        record.watched = false;
}

void HelmRecords::show(Observation& seen) {
    if (!history_.empty()) {
        history_.back().hit_rate_after = seen.hit_rate();
        history_.back().rows_after = rows_per_step(seen);
    }
    seen.history.assign(history_.begin(), history_.end());
}

std::vector<DecisionRecord> HelmRecords::take(bool all) {
    std::vector<DecisionRecord> records;
    while (!open_.empty() &&
           (all || open_.size() > most_open || !(open_.front().judged || open_.front().watched))) {
        records.push_back(std::move(open_.front().record));
        open_.pop_front();
    }
    return records;
}

std::vector<DecisionRecord> HelmRecords::open() const {
    std::vector<DecisionRecord> records;
    for (const OpenRecord& one : open_)
        records.push_back(one.record);
    return records;
}

}  // namespace rudder::steer
