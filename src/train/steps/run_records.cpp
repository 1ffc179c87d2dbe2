#include "run_records.hpp"

#include "core/span.hpp"
#include "steer/helm/records.hpp"

namespace rudder::train {

namespace {

/// Steps after which records go to rank 0, at the latest.
constexpr std::size_t records_at_once = 256;
/// Seconds after which they do, so that who watches a run with long steps sees it go on.
constexpr double records_patience = 5;

}  // namespace

RunRecords::RunRecords(const comm::Communicator& comm, TrainObserver& observer,
                       const RunBuffer& buffer, Steering* steering)
    : comm_(comm), observer_(observer), buffer_(buffer), steering_(steering), book_(comm) {}

bool RunRecords::full() const noexcept {
    return book_.waiting() == records_at_once;
}

bool RunRecords::due_by_clock() const {
    return comm_.rank() == 0 && watch_.passed() >= records_patience;
}

void RunRecords::flush(RunCounts& counts) {
    watch_.lap();
    auto records = book_.gather();
    buffer_.share_knobs(records);
    const auto decisions =
        steering_ != nullptr ? steering_->gather(false) : std::vector<steer::DecisionRecord>{};
    const auto prompts =
        steering_ != nullptr ? steering_->gather_prompts(false) : std::vector<steer::PromptLine>{};
    if (comm_.rank() != 0) return;
    for (const StepRecord& record : records) {
        counts.rows += record.rows;
        counts.seconds += record.seconds;
        counts.edges += record.edges;
        counts.learned += record.learned;
        counts.bytes += record.bytes;
    }
    if (!records.empty()) done_ = records.back().step + 1;
    count_decisions(decisions, counts.agent);
    const Span span("telling");
    observer_.records(records);
    if (!decisions.empty()) observer_.decisions(decisions);
    if (!prompts.empty()) observer_.prompts(prompts);
}

/// Steps are begun, and decided about, before those before them are done.
void RunRecords::count_decisions(std::span<const steer::DecisionRecord> told,
                                 steer::HelmTotals& counts) {
    for (const steer::DecisionRecord& decision : told)
        ahead_.push_back({decision.step, steer::counts_of(decision)});
    for (const CountedDecision& one : ahead_)
        if (one.step < done_) counts += one.counts;
    std::erase_if(ahead_, [&](const CountedDecision& one) { return one.step < done_; });
}

}  // namespace rudder::train
