#include "metrics_fold.hpp"

#include <algorithm>

#include "report/catalogue.hpp"

namespace rudder::report {

namespace {

/// Where the catalogue's numbers that are derived from stand.
struct Places {
    std::size_t step = metric_index("seconds.step");
    std::size_t fetch = metric_index("seconds.fetch");
    std::size_t stall = metric_index("seconds.stall");
    std::size_t compute = metric_index("seconds.compute");
    std::size_t reduce = metric_index("seconds.reduce");
    std::size_t wait_rows = metric_index("seconds.wait_rows");
    std::size_t wait_gradients = metric_index("seconds.wait_gradients");
    std::size_t wait_ranks = metric_index("seconds.wait_ranks");
    std::size_t wait_agent = metric_index("seconds.wait_agent");
    std::size_t rest = metric_index("seconds.rest");
    std::size_t needed = metric_index("rows.needed");
    std::size_t local = metric_index("rows.local");
    std::size_t hit = metric_index("rows.hit");
    std::size_t demand = metric_index("rows.demand");
    std::size_t replacement = metric_index("rows.replacement");
    std::size_t ahead = metric_index("rows.ahead");
    std::size_t edges = metric_index("edges");
    std::size_t loss = metric_index("loss");
};

const Places& places() {
    static const Places all;
    return all;
}

}  // namespace

MetricsFold::MetricsFold(const FoldShape& shape) : shape_(shape) {
    data_.seen.assign(metric_catalogue().size(), 0);
    data_.by_rank.resize(shape.groups);
    data_.by_owner.assign(shape.groups * shape.groups, 0);
    data_.ranks_per_group = shape.ranks_per_group;
    data_.ranks = shape.ranks;
}

void MetricsFold::add_damaged(bool whole) {
    if (whole) {
        ++data_.damaged;
    } else {
        data_.cut = true;
    }
}

void MetricsFold::add(const MetricsLine& line) {
    if (line.step > shape_.last_step || line.rank >= shape_.ranks) {
        add_damaged(true);
        return;
    }
    ++data_.lines;
    add_to_rank(line);
    if (line.rank == 0) note_policy(line);
    if (line.seen[places().loss] == 0) ++data_.bad_losses;
    if (!current_ || current_->step != line.step) {
        if (current_) {
            if (line.step < current_->step) ++data_.unordered;
            close(std::move(*current_));
        }
        current_ = Step{line.step,
                        line.epoch,
                        0,
                        0,
                        std::vector<double>(line.values.size(), 0),
                        std::vector<std::uint64_t>(line.values.size(), 0)};
    }
    ++current_->lines;
    // Earlier versions did not divide what was waited for.
    const Places& p = places();
    const std::size_t waited = line.seen[p.wait_rows] != 0 ? p.wait_rows : p.stall;
    current_->worst_stall = std::max(current_->worst_stall, line.values[waited]);
    for (std::size_t m = 0; m < line.values.size(); ++m) {
        current_->sums[m] += line.values[m];
        current_->counts[m] += line.seen[m];
        data_.seen[m] += line.seen[m];
    }
}

void MetricsFold::add_to_rank(const MetricsLine& line) {
    const Places& p = places();
    const std::uint64_t group = line.rank / shape_.ranks_per_group;
    // Of a file that may say anything: what is no count adds none.
    const auto whole = [](double value) {
        return value >= 0 && value < 1e18 ? static_cast<std::uint64_t>(value) : 0;
    };
    const Seconds seconds{.step = line.values[p.step],
                          .fetch = line.values[p.fetch],
                          .stall = line.values[p.stall],
                          .compute = line.values[p.compute],
                          .reduce = line.values[p.reduce],
                          .wait_rows = line.values[p.wait_rows],
                          .wait_gradients = line.values[p.wait_gradients],
                          .wait_ranks = line.values[p.wait_ranks],
                          .wait_agent = line.values[p.wait_agent],
                          .rest = line.values[p.rest]};
    const Rows rows{.needed = whole(line.values[p.needed]),
                    .local = whole(line.values[p.local]),
                    .hit = whole(line.values[p.hit]),
                    .demand = whole(line.values[p.demand]),
                    .replacement = whole(line.values[p.replacement]),
                    .ahead = whole(line.values[p.ahead])};
    data_.by_rank[group] += step_totals(seconds, rows, whole(line.values[p.edges]));
    auto& cells = rank_buckets_[line.step / shape_.width];
    if (cells.empty()) cells.resize(shape_.groups);
    cells[group] +=
        RankCell{.own = line.values[p.stall] + line.values[p.compute],
                 .rows = line.values[p.demand] + line.values[p.replacement] + line.values[p.ahead],
                 .lines = 1};
    data_.has_owners = data_.has_owners || !line.by_owner.empty();
    const std::size_t owners = std::min<std::size_t>(line.by_owner.size(), shape_.ranks);
    for (std::size_t owner = 0; owner < owners; ++owner) {
        data_.by_owner[group * shape_.groups + owner / shape_.ranks_per_group] +=
            line.by_owner[owner];
    }
}

void MetricsFold::note_policy(const MetricsLine& line) {
    constexpr std::size_t most = 1000;
    if (line.policy.size() <= 2 || data_.policies.size() >= most) return;
    const std::string_view name = line.policy.substr(1, line.policy.rfind('"') - 1);
    if (data_.policies.empty() || data_.policies.back().second != name)
        data_.policies.emplace_back(line.step, name);
}

void MetricsFold::join(Step& step, const Step& more) {
    step.lines += more.lines;
    step.worst_stall = std::max(step.worst_stall, more.worst_stall);
    for (std::size_t m = 0; m < step.sums.size(); ++m) {
        step.sums[m] += more.sums[m];
        step.counts[m] += more.counts[m];
    }
}

void MetricsFold::close(Step&& step) {
    if (!head_) {
        head_ = std::move(step);
    } else {
        fold(step);
    }
}

void MetricsFold::fold(const Step& step) {
    const Places& p = places();
    auto& bucket = buckets_[step.step / shape_.width];
    if (bucket.empty()) bucket.resize(series_columns());
    const auto catalogue = metric_catalogue();
    const auto mean = [&](std::size_t m) {
        return step.counts[m] == 0 ? 0 : step.sums[m] / static_cast<double>(step.counts[m]);
    };
    for (std::size_t m = 0; m < catalogue.size(); ++m) {
        if (step.counts[m] == 0) continue;
        bucket[m].add(catalogue[m].kind == FieldKind::count ? step.sums[m] : mean(m));
    }
    const double remote = step.sums[p.hit] + step.sums[p.demand];
    bucket[series_column(Derived::fetched)].add(step.sums[p.demand] + step.sums[p.replacement] +
                                                step.sums[p.ahead]);
    bucket[series_column(Derived::remote)].add(remote);
    if (remote > 0) bucket[series_column(Derived::hit_rate)].add(step.sums[p.hit] / remote);
    if (step.counts[p.step] != 0) {
        bucket[series_column(Derived::rest)].add(
            std::max(0.0, mean(p.step) - mean(p.stall) - mean(p.compute) - mean(p.reduce)));
        bucket[series_column(Derived::worst_stall)].add(step.worst_stall);
    }
    if (data_.steps++ == 0) data_.first_step = step.step;
    data_.first_step = std::min(data_.first_step, step.step);
    data_.last_step = std::max(data_.last_step, step.step);
    const auto found = epochs_.try_emplace(step.epoch, step.step).first;
    found->second = std::min(found->second, step.step);
}

void MetricsFold::join(MetricsFold&& next) {
    join_counts(next);
    if (!next.current_) return;  // it had no line
    Step& first = next.head_ ? *next.head_ : *next.current_;
    if (current_ && current_->step == first.step) {
        join(*current_, first);
    } else {
        if (current_) {
            if (first.step < current_->step) ++data_.unordered;
            close(std::move(*current_));
        }
        current_ = std::move(first);
    }
    if (!next.head_) return;
    close(std::move(*current_));
    current_ = std::move(next.current_);
    join_buckets(next);
}

void MetricsFold::join_counts(MetricsFold& next) {
    data_.lines += next.data_.lines;
    data_.damaged += next.data_.damaged;
    data_.unordered += next.data_.unordered;
    data_.cut = data_.cut || next.data_.cut;
    data_.bad_losses += next.data_.bad_losses;
    data_.has_owners = data_.has_owners || next.data_.has_owners;
    for (std::size_t m = 0; m < data_.seen.size(); ++m)
        data_.seen[m] += next.data_.seen[m];
    for (std::size_t i = 0; i < data_.by_owner.size(); ++i)
        data_.by_owner[i] += next.data_.by_owner[i];
    for (std::size_t i = 0; i < data_.by_rank.size(); ++i)
        data_.by_rank[i] += next.data_.by_rank[i];
    for (auto& [number, cells] : next.rank_buckets_) {
        auto& mine = rank_buckets_[number];
        if (mine.empty()) mine.resize(cells.size());
        for (std::size_t g = 0; g < cells.size(); ++g)
            mine[g] += cells[g];
    }
    for (auto& change : next.data_.policies) {
        if (data_.policies.empty() || data_.policies.back().second != change.second)
            data_.policies.push_back(std::move(change));
    }
}

void MetricsFold::join_buckets(MetricsFold& next) {
    if (next.data_.steps == 0) return;
    data_.first_step = data_.steps == 0 ? next.data_.first_step
                                        : std::min(data_.first_step, next.data_.first_step);
    data_.last_step = std::max(data_.last_step, next.data_.last_step);
    data_.steps += next.data_.steps;
    for (auto& [number, stats] : next.buckets_) {
        auto& bucket = buckets_[number];
        if (bucket.empty()) {
            bucket = std::move(stats);
            continue;
        }
        for (std::size_t c = 0; c < stats.size(); ++c)
            bucket[c].add(stats[c]);
    }
    for (const auto& [epoch, step] : next.epochs_) {
        const auto found = epochs_.try_emplace(epoch, step).first;
        found->second = std::min(found->second, step);
    }
}

MetricsData MetricsFold::finish() {
    if (head_) fold(*head_);
    if (current_) fold(*current_);
    head_.reset();
    current_.reset();
    StepSeries& series = data_.series;
    series.width = shape_.width;
    series.columns = series_columns();
    const std::uint64_t count = buckets_.empty() ? 0 : buckets_.rbegin()->first + 1;
    series.stats.resize(count * series.columns);
    for (const auto& [number, stats] : buckets_) {
        std::ranges::copy(
            stats, series.stats.begin() + static_cast<std::ptrdiff_t>(number * series.columns));
    }
    RankSeries& ranks = data_.rank_series;
    ranks.width = shape_.width;
    ranks.groups = shape_.groups;
    ranks.cells.resize((rank_buckets_.empty() ? 0 : rank_buckets_.rbegin()->first + 1) *
                       shape_.groups);
    for (const auto& [number, cells] : rank_buckets_) {
        std::ranges::copy(
            cells, ranks.cells.begin() + static_cast<std::ptrdiff_t>(number * shape_.groups));
    }
    for (const auto& [epoch, step] : epochs_) {
        if (epoch != epochs_.begin()->first) data_.epoch_ends.push_back(static_cast<double>(step));
    }
    data_.present = true;
    return std::move(data_);
}

}  // namespace rudder::report
