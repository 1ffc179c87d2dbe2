// What a helm writes down of its decisions, and what they add up to.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "helm.hpp"
#include "judge.hpp"

namespace rudder::steer {

/// A record that may still change.
struct OpenRecord {
    std::uint64_t number = 0;
    DecisionRecord record;
    bool judged = false;   ///< an outcome will come
    bool watched = false;  ///< may still be undone
};

/// What one record adds to the totals.
[[nodiscard]] HelmTotals counts_of(const DecisionRecord& record);

class HelmRecords {
public:
    explicit HelmRecords(const HelmOptions& options);

    /// Begins the record of what came of a question.
    OpenRecord& note(const Observation& observation, const Reply& given, std::uint64_t step);
    /// Null if there is none of that number, or no more.
    [[nodiscard]] OpenRecord* find(std::uint64_t number);
    void close(OpenRecord& record, DecisionStatus status, std::string problem);
    /// It is a change that may be taken back; those before it can no more.
    void watch(OpenRecord& record);
    /// The last change that is watched was taken back.
    void undone(const std::string& why);
    /// Takes in the verdicts. A change that has `held` for a block is no longer watched.
    void settle(std::span<const Judge::Verdict> verdicts, bool held);
    /// The past decisions, and what became of rows since the last of them.
    void show(Observation& seen);
    /// Those that are complete; `all`: also those that are not. One that does not come to its end
    /// holds only so many back.
    [[nodiscard]] std::vector<DecisionRecord> take(bool all);
    /// Copies of those that are not, as they stand.
    [[nodiscard]] std::vector<DecisionRecord> open() const;

    HelmTotals totals;

private:
    std::uint32_t rank_;
    std::string agent_;
    std::string run_;
    bool decides_;
    std::deque<PastDecision> history_;
    std::deque<OpenRecord> open_;
    std::uint64_t recorded_ = 0;
};

}  // namespace rudder::steer
