#include "answers.hpp"

#include <algorithm>

#include "core/step_time.hpp"
#include "report/run/read_parts.hpp"

namespace rudder::report {

namespace {

using Number = Answers::Number;

std::string either(const std::string& a, const std::string& b) {
    return a.empty() ? b : a;
}

Number ratio(const Number& part, const Number& whole) {
    if (!part || !whole || *whole <= 0) return std::nullopt;
    return *part / *whole;
}

void find_accuracy(const RunData& run, Answers& a) {
    a.test = run.summary.number("accuracy.test");
    a.valid = run.summary.number("accuracy.valid");
    a.train = run.summary.number("accuracy.train");
    a.mrr = run.summary.number("mrr.test");
    a.best_epoch = run.summary.number("best_epoch");
    if (a.test || a.valid || run.epochs.empty()) return;
    // No summary yet: the epoch that is best by validation, as the summary would have it.
    const EpochData* best = nullptr;
    for (const EpochData& epoch : run.epochs) {
        if (epoch.valid && (best == nullptr || *epoch.valid > *best->valid)) best = &epoch;
    }
    if (best == nullptr) return;
    a.test = best->test;
    a.valid = best->valid;
    a.train = best->train;
    a.best_epoch = static_cast<double>(best->epoch);
}

void find_time(const RunData& run, Answers& a) {
    a.seconds = run.summary.number("seconds.total");
    Seconds seconds;
    double lines = 0;
    for (const RankTotals& rank : run.metrics.by_rank) {
        seconds += rank.seconds;
        lines += static_cast<double>(rank.lines);
    }
    const Facts& s = run.summary;
    if (const auto told = summary_seconds(s)) {
        seconds = *told;
        lines = s.number("steps").value_or(0) * s.number("ranks").value_or(0);
    }
    if (!(seconds.step > 0)) return;
    seconds = with_all_parts(seconds);
    if (!a.seconds && run.metrics.ranks > 0)
        a.seconds = seconds.step / static_cast<double>(run.metrics.ranks);
    if (lines > 0) {
        a.step_seconds = seconds.step / lines;
        a.stall_seconds = seconds.wait_rows / lines;
    }
    a.compute = seconds.compute / seconds.step;
    a.stall = seconds.wait_rows / seconds.step;
    a.reduce = seconds.wait_gradients / seconds.step;
    a.slower = seconds.wait_ranks / seconds.step;
    a.agent_wait = seconds.wait_agent / seconds.step;
    a.rest = seconds.rest / seconds.step;
}

void find_rows(const RunData& run, Answers& a) {
    const auto rows = [&](const char* path) -> Number {
        if (const auto number = run.summary.number(path)) return number;
        if (run.metrics.lines == 0) return std::nullopt;
        return run.metrics.series.total(series_column(path)).sum;
    };
    a.needed = rows("rows.needed");
    a.local = rows("rows.local");
    a.hit = rows("rows.hit");
    const Number demand = rows("rows.demand");
    const Number replacement = rows("rows.replacement");
    const Number ahead = rows("rows.ahead");
    if (demand && replacement && ahead) a.fetched = *demand + *replacement + *ahead;
    if (a.hit && demand) a.remote = *a.hit + *demand;
    a.hit_rate = ratio(a.hit, a.remote);
    if (const Number share = ratio(a.fetched, a.remote)) a.saved = 1 - *share;
    a.feature_bytes = rows("bytes.features");
    a.coded_rows = ratio(run.summary.number("coding.features.travelled"),
                         run.summary.number("coding.features.plain"));
    a.floor = run.summary.number("rows.floor");
    if (!a.floor && run.metrics.lines != 0) {
        const Stat floor = run.metrics.series.total(series_column(Derived::floor));
        if (floor.count == run.metrics.steps && floor.count != 0) a.floor = floor.sum;
    }
    a.over_floor = ratio(a.fetched, a.floor);
}

void find_agent(const RunData& run, Answers& a) {
    const Facts& s = run.summary;
    a.agent = either(s.text("agent.name"), either(run.run.text("agent"), run.decisions.agent));
    if (a.agent == "never") a.agent.clear();
    if (a.agent.empty()) return;
    a.excess = s.number("agent.excess");
    a.regret_error = s.number("agent.regret_error");
    a.regret_against = s.text("agent.regret_against");
    // Earlier versions called the excess so.
    (a.regret_error || a.excess ? a.regret : a.excess) = s.number("agent.regret");
    if (!a.regret_error) a.regret.reset();
    a.decisions = s.number("agent.decisions");
    a.applied = s.number("agent.applied");
    a.judged = s.number("agent.judged");
    a.no_effect = s.number("agent.no_effect");
    a.right = s.number(a.no_effect ? "agent.better" : "agent.correct");
    for (const char* failed : {"agent.late", "agent.invalid", "agent.refused"}) {
        if (a.judged && a.regret_error) *a.judged += s.number(failed).value_or(0);
    }
    if (a.judged && a.no_effect) *a.judged -= *a.no_effect;
    if (a.decisions) return;
    double applied = 0;
    double no_effect = 0;
    double wrong = 0;
    double right = 0;
    for (const DecisionPoint& point : run.decisions.points) {
        applied += point.kind != DecisionKind::keep && !point.failed && !point.undone ? 1 : 0;
        no_effect += point.verdict == Judgement::no_effect ? 1 : 0;
        wrong += point.verdict == Judgement::wrong ? 1 : 0;
        right += point.verdict == Judgement::right ? 1 : 0;
    }
    a.decisions = static_cast<double>(run.decisions.lines);
    a.applied = applied;
    a.no_effect = no_effect;
    a.judged = right + wrong;
    a.right = ratio(right, a.judged);
}

}  // namespace

Answers answers_of(const RunData& run) {
    Answers a;
    find_accuracy(run, a);
    find_time(run, a);
    find_rows(run, a);
    find_agent(run, a);
    const Facts& s = run.summary;
    a.ranks = s.number("ranks") ? s.number("ranks") : run.run.number("ranks");
    if (!a.ranks && run.metrics.ranks != 0) a.ranks = static_cast<double>(run.metrics.ranks);
    a.steps = s.number("steps");
    if (!a.steps && run.metrics.present) a.steps = static_cast<double>(run.metrics.steps);
    a.epochs = s.number("epochs");
    if (!a.epochs && !run.epochs.empty()) a.epochs = static_cast<double>(run.epochs.size());
    const auto epochs = run.run.number("epochs");
    const auto per_epoch = run.run.number("steps_per_epoch");
    if (epochs && per_epoch) a.steps_planned = *epochs * *per_epoch;
    a.peak_memory = s.number("memory.peak_rss");
    a.policy = either(s.text("policy"), run.run.text("policy"));
    a.model = either(s.text("model"), run.run.text("model"));
    a.data = either(s.text("data"), run.run.text("data"));
    a.link = either(s.text("link"), run.run.text("link"));
    const auto& policies = run.metrics.policies;
    if (policies.size() > 1 && policies.back().second != a.policy)
        a.last_policy = policies.back().second;
    a.version = either(s.text("version"), run.run.text("version"));
    return a;
}

}  // namespace rudder::report
