// What each rank of a run did, summed up as records come.
#pragma once

#include <vector>

#include "report/run_data.hpp"
#include "rudder/train/observer.hpp"

namespace rudder::cli {

/// On rank 0, which is told of all.
class RankTally final : public train::TrainObserver {
public:
    explicit RankTally(int ranks) : by_rank_(static_cast<std::size_t>(ranks)) {}

    void records(std::span<const train::StepRecord> records) override {
        for (const train::StepRecord& record : records)
            by_rank_[record.rank] += report::step_totals(record.seconds, record.rows, record.edges);
    }
    [[nodiscard]] const std::vector<report::RankTotals>& by_rank() const noexcept {
        return by_rank_;
    }

private:
    std::vector<report::RankTotals> by_rank_;
};

}  // namespace rudder::cli
