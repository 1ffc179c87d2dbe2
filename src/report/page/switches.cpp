#include "switches.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace rudder::report {

namespace {

/// The mean of the rows that ranks fetched per step, over whole buckets in [begin, end).
std::optional<double> rows_between(const RunData& run, const std::vector<std::uint32_t>& ranks,
                                   std::uint64_t begin, std::uint64_t end) {
    const RankSeries& series = run.metrics.rank_series;
    if (series.groups == 0) return std::nullopt;
    std::vector<std::size_t> groups;
    for (const std::uint32_t rank : ranks)
        groups.push_back(rank / run.metrics.ranks_per_group);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    RankCell sum;
    std::uint64_t lines = 0;  // of one of the groups: as many as steps, times its ranks
    for (std::uint64_t b = (begin + series.width - 1) / series.width;
         b < series.buckets() && (b + 1) * series.width <= end; ++b) {
        for (const std::size_t group : groups) {
            if (group < series.groups) sum += series.at(b, group);
        }
        if (groups.front() < series.groups) lines += series.at(b, groups.front()).lines;
    }
    const std::uint64_t from = groups.front() * run.metrics.ranks_per_group;
    const std::uint64_t members = std::min(run.metrics.ranks_per_group,
                                           run.metrics.ranks - std::min(from, run.metrics.ranks));
    if (members == 0 || lines < members) return std::nullopt;
    return sum.rows * static_cast<double>(members) / static_cast<double>(lines);
}

/// Everything that took effect, in order of steps.
std::vector<const DecisionText*> changes_of(const RunData& run) {
    std::vector<const DecisionText*> changes;
    for (const DecisionText& d : run.decisions.notable) {
        const bool held = d.status == "applied" || d.status == "undone";
        if (held && d.action.starts_with("set ")) changes.push_back(&d);
    }
    std::ranges::stable_sort(changes, {}, [](const DecisionText* d) { return d->effective_step; });
    return changes;
}

}  // namespace

std::vector<Switch> switches_of(const RunData& run) {
    std::vector<Switch> all;
    const std::uint64_t near = (run.metrics.last_step - run.metrics.first_step) / 50;
    for (const DecisionText* d : changes_of(run)) {
        const bool undone = d->status == "undone";
        const auto same = std::ranges::find_if(all, [&](const Switch& s) {
            return s.action == d->action && s.undone == undone &&
                   d->effective_step - s.step <= near &&
                   std::ranges::find(s.ranks, d->rank) == s.ranks.end();
        });
        Switch& one = same == all.end() ? all.emplace_back() : *same;
        if (one.ranks.empty()) {
            one.step = d->effective_step;
            one.action = d->action;
            one.undone = undone;
        }
        one.ranks.push_back(d->rank);
        std::ranges::sort(one.ranks);
        if (d->rows && d->other_rows)
            one.effect = std::max(one.effect, std::abs(*d->other_rows - *d->rows));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::uint64_t begin = i == 0 ? run.metrics.first_step : all[i - 1].step;
        const std::uint64_t end = i + 1 == all.size() ? run.metrics.last_step + 1 : all[i + 1].step;
        all[i].before = rows_between(run, all[i].ranks, begin, all[i].step);
        all[i].after = rows_between(run, all[i].ranks, all[i].step, end);
    }
    return all;
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
    constexpr std::size_t most = 6;
    if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
    if (ranks.size() > most) return fmt::format("{} ranks", ranks.size());
    std::string text = "ranks ";
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        text += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
    }
    return text;
}

}  // namespace rudder::report
