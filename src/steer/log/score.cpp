#include "score.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "steer/helm/helm_options.hpp"
#include "steer/regret/rivals.hpp"
#include "steer/samples/features.hpp"
#include "steer/steered_replay.hpp"

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

double misses_per_step(const Observation& seen) {
    return static_cast<double>(seen.rows.demand) /
           static_cast<double>(std::max<std::uint64_t>(1, seen.rows.steps));
}

int sign(double value) {
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

/// An answer that came to nothing.
bool failed(const DecisionRecord& record) {
    using enum DecisionStatus;
    return record.status == late || record.status == invalid || record.status == refused;
}

void count(ShareScore& score, bool right) {
    ++score.all;
    score.right += right ? 1U : 0U;
}

/// Whether the yes and no of an agent is a forecast: of classifiers it is.
bool predicting(const std::string& agent) {
    try {
        return AgentSpec::parse(agent).info().predicts;
    } catch (const Error&) {
        return false;  // one of somebody else's program
    }
}

PassRule rule_of(std::span<const DecisionRecord> records) {
    if (std::ranges::any_of(records, [](const auto& r) { return r.forecast.has_value(); }))
        return PassRule::forecast;
    const bool predicts = !records.empty() && predicting(records.front().agent);
    return predicts ? PassRule::classifier : PassRule::none;
}

/// One record and the next observation of its rank.
void score_pair(const DecisionRecord& record, const Observation& next, PassScore& pass) {
    const bool scorable =
        failed(record) || pass.rule == PassRule::classifier || record.forecast.has_value();
    if (!scorable) return;
    const ClassifierRecord now = classifier_record(record.observation);
    const ClassifierRecord then = classifier_record(next);
    const int hits = sign(then.hit_rate - now.hit_rate);
    const int rows = sign(misses_per_step(next) - misses_per_step(record.observation));
    if (pass.rule == PassRule::forecast) {
        count(pass.hit_rate, !failed(record) && record.forecast->hit_rate == hits);
        count(pass.rows, !failed(record) && record.forecast->rows == rows);
        return;
    }
    const bool yes = record.action.kind != ActionKind::keep;
    count(pass.hit_rate, !failed(record) && (yes ? hits > 0 : hits >= 0));
    count(pass.label, !failed(record) && yes == gained_as_published(now, then));
}

PassScore score_pass(std::span<const DecisionRecord> records) {
    PassScore pass{.rule = rule_of(records), .hit_rate = {}, .rows = {}, .label = {}};
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
            {"built_in_rule", cost.built_in_rule},
            {"built_in_rows", cost.built_in},
            {"excess", cost.excess()},
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

ShareScore CounterfactualScore::better() const noexcept {
    return {share.right - no_effect, share.all - no_effect};
}

std::string_view to_string(PassRule rule) noexcept {
    return rule_names[static_cast<std::size_t>(rule)];
}

double CostScore::excess() const noexcept {
    return counted_excess ? *counted_excess : rows_beyond(rows, built_in);
}

double CostScore::regret() const noexcept {
    return rows_beyond(rows, best);
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
        if (record.status == DecisionStatus::applied || record.status == DecisionStatus::undone)
            ++(record.action.kind == ActionKind::keep ? score.kept : score.applied);
        CounterfactualScore& other = score.counterfactual;
        if (failed(record)) {
            count(other.share, false);
        } else if (record.outcome) {
            count(other.share, record.outcome->correct());
            ++other.judged;
            other.no_effect += record.outcome->tied() ? 1U : 0U;
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
        counterfactual["no_effect"] = score.counterfactual.no_effect;
        counterfactual["better"] = share_json(score.counterfactual.better());
        counterfactual["horizon"] = score.counterfactual.horizon;
        counterfactual["set_horizon"] = score.counterfactual.set_horizon;
    }
    return {{"agent", score.agent},
            {"run", score.run},
            {"decisions", score.decisions},
            {"applied", score.applied},
            {"kept", score.kept},
            {"late", score.late},
            {"invalid", score.invalid},
            {"refused", score.refused},
            {"undone", score.undone},
            {"pass_at_1", std::move(pass)},
            {"counterfactual", std::move(counterfactual)},
            {"cost", cost_json(score)},
            {"label_accuracy", share_json(score.pass.label)}};
}

namespace {

/// What a log says of one buffer.
struct Course {
    std::map<std::uint64_t, Action> actions;    ///< by the step at which they took effect
    std::map<std::uint64_t, Setting> settings;  ///< as observed
    std::uint64_t slots = 0;
};

/// Does what a log did: its actions, and, where it was observed with another setting (the guard had
/// taken something back), that setting.
class Repeated final : public Agent {
public:
    explicit Repeated(const Course& course) : course_(course) {}

    Answer decide(const Observation& seen) override {
        Answer answer;
        const auto known = course_.settings.find(seen.step);
        if (known != course_.settings.end()) {
            Setting wanted = known->second;
            wanted.capacity = std::min(wanted.capacity, seen.limits.slots);
            auto changes = changes_between(seen.setting, wanted);
            std::erase_if(changes, [](const KnobChange& c) { return knob(c.id).on_time; });
            if (!changes.empty()) {
                answer.action = Action::set(std::move(changes), Reason::replayed);
                return answer;
            }
        }
        const auto at = course_.actions.find(seen.step);
        if (at != course_.actions.end()) answer.action = at->second;
        return answer;
    }

private:
    const Course& course_;
};

/// By rank, in ascending order.
std::map<std::uint32_t, Course> courses_of(std::span<const DecisionRecord> records) {
    std::map<std::uint32_t, Course> courses;
    for (const DecisionRecord& record : records) {
        Course& course = courses[record.rank];
        if (record.observation.sequence != 0) {
            course.settings.emplace(record.step, record.observation.setting);
            course.slots = record.observation.limits.slots;
        }
        const bool took_effect =
            record.status == DecisionStatus::applied || record.status == DecisionStatus::undone;
        if (!took_effect || record.action.kind == ActionKind::keep) continue;
        Action action = record.action;
        std::erase_if(action.knobs, [](const KnobChange& c) { return knob(c.id).on_time; });
        if (action.kind == ActionKind::set && action.knobs.empty()) continue;
        course.actions.emplace(record.effective_step, std::move(action));
    }
    return courses;
}

/// The course of a host: its own rank's, or that of the one agent of all.
const Course& course_of(const std::map<std::uint32_t, Course>& courses, std::size_t host,
                        std::size_t hosts) {
    if (courses.size() != hosts) return courses.begin()->second;
    return std::next(courses.begin(), static_cast<std::ptrdiff_t>(host))->second;
}

/// Rows of a host's buffer: the log knows its own, the trace those of buffers that followed.
std::uint64_t capacity_of(const buffer::HostTrace& trace, const Course& course, bool own) {
    const std::uint64_t known = trace.header().capacity;
    return std::min(own || known == 0 ? course.slots : known, trace.distinct());
}

HelmOptions repeating(const buffer::HostTrace& trace, const Course& course,
                      std::uint64_t capacity) {
    const buffer::PolicySpec policy = course.settings.empty()
                                          ? buffer::PolicySpec::parse(trace.header().policy)
                                          : course.settings.begin()->second.policy;
    HelmOptions helm = replay_helm_options(AgentSpec::parse("never"), trace, policy, capacity);
    helm.make = [&course](const AgentFacts&) { return std::make_unique<Repeated>(course); };
    helm.sample = 4096;  // nobody looks at its shadows
    helm.judged_at_once = 0;
    helm.facts.limits.window = 1'000'000;
    return helm;
}

std::uint64_t repeat(const buffer::HostTrace& trace, const Course& course, std::uint64_t capacity) {
    const HelmOptions options = repeating(trace, course, capacity);
    const buffer::PolicySpec policy = options.facts.start.policy;
    Helm steered(options);
    return buffer::replay_host(trace, policy, capacity, &steered).fetched();
}

/// Rows that a host would have fetched.
struct HostRows {
    std::uint64_t log = 0;  ///< as the log has it
    std::uint64_t built_in = 0;
    std::uint64_t floor = 0;

    static constexpr auto fields =
        unnamed_fields(&HostRows::log, &HostRows::built_in, &HostRows::floor);
};
static_assert(lists_all_fields<HostRows>);

}  // namespace

CostScore score_cost(std::span<const DecisionRecord> records, const buffer::Trace& trace) {
    if (records.empty() || trace.empty()) return {};
    const std::string run = run_of(trace);
    if (records.front().run != run) {
        throw usage_error(fmt::format("the trace is from another run ('{}', the log of '{}')", run,
                                      records.front().run),
                          "--trace", "give the trace of the run that wrote the log");
    }
    const auto courses = courses_of(records);
    const auto first = std::ranges::find_if(
        records, [](const DecisionRecord& r) { return r.observation.sequence != 0; });
    const buffer::PolicySpec policy =
        first == records.end() ? buffer::PolicySpec::parse(trace.front()->header().policy)
                               : first->observation.setting.policy;
    const buffer::PolicySpec built_in = buffer::built_in_rule(policy);
    std::vector<std::uint64_t> capacity;
    for (std::size_t h = 0; h < trace.size(); ++h) {
        capacity.push_back(capacity_of(*trace[h], course_of(courses, h, trace.size()),
                                       courses.size() == trace.size()));
    }
    std::vector<HostRows> rows(trace.size());
    constexpr std::size_t replays = field_count<HostRows>;
    parallel_chunks(rows.size() * replays, 1, [&](const Chunk& chunk) {
        const std::size_t host = chunk.index / replays;
        const auto fetched = [&](const buffer::PolicySpec& rule) {
            return buffer::replay_host(*trace[host], rule, capacity[host]).fetched();
        };
        switch (chunk.index % replays) {
            case 0:
                rows[host].log =
                    repeat(*trace[host], course_of(courses, host, trace.size()), capacity[host]);
                break;
            case 1:
                rows[host].built_in = fetched(built_in);
                break;
            default:
                rows[host].floor = fetched(buffer::PolicySpec::parse("optimal"));
        }
    });
    HostRows sum;
    for (const HostRows& of_host : rows)
        add_fields(sum, of_host);
    const RivalRows rivals = rival_rows(trace, capacity);
    const auto window = std::ranges::find(declared_class(), std::string("window:16"), &Rival::name);
    return {.rows = sum.log,
            .built_in_rule = built_in.text(),
            .built_in = sum.built_in,
            .best_rule = declared_class()[rivals.best()].name,
            .best = rivals.best_rows(),
            .window = *rivals.fetched[static_cast<std::size_t>(window - declared_class().begin())],
            .floor = sum.floor};
}

}  // namespace rudder::steer
