// Lines of metrics.jsonl folded into buckets of steps as they are read.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "report/run_data.hpp"

#include "metrics_line.hpp"

namespace rudder::report {

/// What must be known before the first line: how wide a bucket is, and how ranks are grouped.
struct FoldShape {
    std::uint64_t last_step = 0;  ///< lines of later steps count as damaged
    std::uint64_t width = 1;
    std::uint64_t ranks = 1;
    std::uint64_t ranks_per_group = 1;
    std::uint64_t groups = 1;
};

/// Lines of one stretch of the file, in their order. Its memory does not grow with their number: a
/// step is closed when the next one comes. Stretches are joined in order of the file.
class MetricsFold {
public:
    explicit MetricsFold(const FoldShape& shape);

    void add(const MetricsLine& line);
    void add_damaged(bool whole);
    /// Joins the stretch that follows this one.
    void join(MetricsFold&& next);
    /// After the last: everything, as it is to be shown.
    [[nodiscard]] MetricsData finish();

private:
    /// One step so far.
    struct Step {
        std::uint64_t step = 0;
        std::uint64_t epoch = 0;
        std::uint64_t lines = 0;
        double worst_stall = 0;
        std::vector<double> sums;
        std::vector<std::uint64_t> counts;
    };
    static void join(Step& step, const Step& more);
    void join_counts(MetricsFold& next);
    void join_buckets(MetricsFold& next);
    void close(Step&& step);
    void fold(const Step& step);
    void add_to_rank(const MetricsLine& line);
    void note_policy(const MetricsLine& line);

    FoldShape shape_;
    MetricsData data_;
    std::map<std::uint64_t, std::vector<Stat>> buckets_;
    std::map<std::uint64_t, std::vector<RankCell>> rank_buckets_;  ///< by bucket: groups
    std::map<std::uint64_t, std::uint64_t> epochs_;                ///< by epoch: its first step
    std::optional<Step> head_;     ///< the first step, part of which may lie in the stretch before
    std::optional<Step> current_;  ///< the last one, which may go on
};

}  // namespace rudder::report
