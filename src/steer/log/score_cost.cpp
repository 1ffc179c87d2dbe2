// What the decisions of a log cost, by replaying them over the run's trace.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "steer/helm/helm_options.hpp"
#include "steer/steered_replay.hpp"

#include "score.hpp"

namespace rudder::steer {

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

}  // namespace

std::vector<buffer::PolicySpec> fixed_rules(const buffer::PolicySpec& policy) {
    if (!policy.info().takes_decisions || buffer::has_own_signal(policy)) return {policy};
    std::vector<buffer::PolicySpec> rules{policy};
    for (const double every : {1, 2, 4, 8, 16, 32}) {
        rules.push_back(policy);
        rules.back().set("every", every);
    }
    return rules;
}

CostScore score_cost(std::span<const DecisionRecord> records, const buffer::Trace& trace) {
    if (records.empty() || trace.empty()) return {};
    const std::string run = run_of(trace);
    if (records.front().run != run) {
        throw usage_error(fmt::format("the trace is of another run ('{}', the log of '{}')", run,
                                      records.front().run),
                          "--trace", "give the trace of the run that wrote the log");
    }
    const auto courses = courses_of(records);
    const auto first = std::ranges::find_if(
        records, [](const DecisionRecord& r) { return r.observation.sequence != 0; });
    const buffer::PolicySpec policy =
        first == records.end() ? buffer::PolicySpec::parse(trace.front()->header().policy)
                               : first->observation.setting.policy;
    std::vector<buffer::PolicySpec> others = fixed_rules(policy);
    others.push_back(buffer::PolicySpec::parse("window:16"));
    others.push_back(buffer::PolicySpec::parse("optimal"));
    const std::size_t columns = others.size() + 1;
    std::vector<std::uint64_t> rows(columns * trace.size());
    parallel_chunks(rows.size(), 1, [&](const Chunk& chunk) {
        const buffer::HostTrace& host = *trace[chunk.index / columns];
        const std::size_t column = chunk.index % columns;
        const Course& course = course_of(courses, chunk.index / columns, trace.size());
        const std::uint64_t capacity = capacity_of(host, course, courses.size() == trace.size());
        rows[chunk.index] = column == others.size()
                                ? repeat(host, course, capacity)
                                : buffer::replay_host(host, others[column], capacity).fetched();
    });
    std::vector<std::uint64_t> sums(columns, 0);
    for (std::size_t i = 0; i < rows.size(); ++i)
        sums[i % columns] += rows[i];
    const auto best = std::min_element(sums.begin(), sums.end() - 3);
    const buffer::PolicySpec& rule = others[static_cast<std::size_t>(best - sums.begin())];
    return {.rows = sums[columns - 1],
            .best_rule = rule == policy && others.size() > 3 ? "never" : rule.text(),
            .best = *best,
            .window = sums[columns - 3],
            .floor = sums[columns - 2]};
}

}  // namespace rudder::steer
