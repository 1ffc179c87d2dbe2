#include "score.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/json.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<std::string_view, 3> rule_names{"forecast", "classifier", "none"};

constexpr double normal_95 = 1.959963984540054;

/// The middle and half the width of Wilson's interval.
std::pair<double, double> wilson(const ShareScore& score) {
    const auto n = static_cast<double>(score.all);
    const double z2 = normal_95 * normal_95;
    const double p = score.share();
    const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    const double half = normal_95 * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    return {middle, half};
}

/// Cumulative, in whole per cent, as the published record has it.
long published_hit_rate(const Observation& seen) {
    return std::lround(100 * hit_rate(seen.total));
}

double misses_per_step(const Observation& seen) {
    return static_cast<double>(seen.rows.demand) /
           static_cast<double>(std::max<std::uint64_t>(1, seen.rows.steps));
}

int sign(double value) {
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

bool failed(const DecisionRecord& record) {
    return record.status == DecisionStatus::late || record.status == DecisionStatus::invalid;
}

void count(ShareScore& score, bool right) {
    ++score.all;
    score.right += right ? 1U : 0U;
}

PassRule rule_of(std::span<const DecisionRecord> records) {
    if (std::ranges::any_of(records, [](const auto& r) { return r.forecast.has_value(); }))
        return PassRule::forecast;
    if (std::ranges::any_of(records, [](const auto& r) { return r.observation.takes_decisions; }))
        return PassRule::classifier;
    return PassRule::none;
}

/// One record and the next observation of its rank.
void score_pair(const DecisionRecord& record, const Observation& next, PassScore& pass) {
    const bool scorable =
        failed(record) || pass.rule == PassRule::classifier || record.forecast.has_value();
    if (!scorable) return;
    const int hits = sign(
        static_cast<double>(published_hit_rate(next) - published_hit_rate(record.observation)));
    const int rows = sign(misses_per_step(next) - misses_per_step(record.observation));
    if (pass.rule == PassRule::forecast) {
        count(pass.hit_rate, !failed(record) && record.forecast->hit_rate == hits);
        count(pass.rows, !failed(record) && record.forecast->rows == rows);
        return;
    }
    const bool yes = record.action.kind != ActionKind::keep;
    count(pass.hit_rate, !failed(record) && (yes ? hits > 0 : hits >= 0));
}

PassScore score_pass(std::span<const DecisionRecord> records) {
    PassScore pass{.rule = rule_of(records), .hit_rate = {}, .rows = {}};
    if (pass.rule == PassRule::none) return pass;
    std::map<std::uint32_t, std::vector<const DecisionRecord*>> by_rank;
    for (const DecisionRecord& record : records) {
        if (record.observation.sequence != 0) by_rank[record.rank].push_back(&record);
    }
    for (auto& [rank, list] : by_rank) {
        std::ranges::stable_sort(list, {}, [](const auto* record) { return record->step; });
        for (std::size_t i = 0; i + 1 < list.size(); ++i)
            score_pair(*list[i], list[i + 1]->observation, pass);
    }
    return pass;
}

Json share_json(const ShareScore& score) {
    if (score.all == 0) return nullptr;
    return {{"share", score.share()},
            {"low", score.low()},
            {"high", score.high()},
            {"right", score.right},
            {"of", score.all}};
}

Json cost_json(const LogScore& score) {
    if (!score.cost) return nullptr;
    const CostScore& cost = *score.cost;
    const auto ratio = [&](std::uint64_t other) {
        return other == 0 ? Json(nullptr)
                          : Json(static_cast<double>(cost.rows) / static_cast<double>(other));
    };
    return {{"rows", cost.rows},
            {"best_fixed_rule", cost.best_rule},
            {"best_fixed_rows", cost.best},
            {"regret", cost.regret()},
            {"of_best_fixed", ratio(cost.best)},
            {"window_rows", cost.window},
            {"of_window", ratio(cost.window)},
            {"floor_rows", cost.floor},
            {"of_floor", ratio(cost.floor)}};
}

}  // namespace

double ShareScore::share() const noexcept {
    return all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
}

double ShareScore::low() const noexcept {
    if (all == 0) return 0;
    const auto [middle, half] = wilson(*this);
    return std::max(0.0, middle - half);
}

double ShareScore::high() const noexcept {
    if (all == 0) return 1;
    const auto [middle, half] = wilson(*this);
    return std::min(1.0, middle + half);
}

std::string_view to_string(PassRule rule) noexcept {
    return rule_names[static_cast<std::size_t>(rule)];
}

double CostScore::regret() const noexcept {
    return best == 0 ? 0 : static_cast<double>(rows) / static_cast<double>(best) - 1;
}

LogScore score_log(std::span<const DecisionRecord> records) {
    LogScore score;
    for (const DecisionRecord& record : records) {
        if (score.agent.empty()) {
            score.agent = record.agent;
            score.run = record.run;
        }
        ++score.decisions;
        score.late += record.status == DecisionStatus::late ? 1U : 0U;
        score.invalid += record.status == DecisionStatus::invalid ? 1U : 0U;
        score.refused += record.status == DecisionStatus::refused ? 1U : 0U;
        score.undone += record.status == DecisionStatus::undone ? 1U : 0U;
        const bool acts = record.action.kind != ActionKind::keep;
        score.applied += acts && record.status == DecisionStatus::applied ? 1U : 0U;
        CounterfactualScore& other = score.counterfactual;
        if (failed(record)) {
            count(other.share, false);
        } else if (record.outcome) {
            count(other.share, record.outcome->correct());
            ++other.judged;
            std::uint64_t& horizon =
                record.action.kind == ActionKind::set ? other.set_horizon : other.horizon;
            horizon = std::max(horizon, record.outcome->steps);
        }
    }
    score.pass = score_pass(records);
    return score;
}

Json to_json(const LogScore& score) {
    Json pass{{"rule", to_string(score.pass.rule)},
              {"hit_rate", share_json(score.pass.hit_rate)},
              {"rows", share_json(score.pass.rows)}};
    Json counterfactual = share_json(score.counterfactual.share);
    if (counterfactual.is_object()) {
        counterfactual["judged"] = score.counterfactual.judged;
        counterfactual["horizon"] = score.counterfactual.horizon;
        counterfactual["set_horizon"] = score.counterfactual.set_horizon;
    }
    return {{"agent", score.agent},         {"run", score.run},
            {"decisions", score.decisions}, {"applied", score.applied},
            {"late", score.late},           {"invalid", score.invalid},
            {"refused", score.refused},     {"undone", score.undone},
            {"pass_at_1", std::move(pass)}, {"counterfactual", std::move(counterfactual)},
            {"cost", cost_json(score)}};
}

}  // namespace rudder::steer
