#include "steered_groups.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "steer/helm/helm_options.hpp"
#include "train/steps/steering.hpp"

namespace rudder::train {

SteeredGroups::SteeredGroups(const SimulatedGround& ground,
                             std::span<const std::unique_ptr<BufferGroup>> groups)
    : ground_(ground), groups_(groups) {
    const TrainOptions& o = ground.options();
    if (!steered(o)) return;
    if (o.steer.scope == steer::AgentScope::host && o.buffer_scope == buffer::BufferScope::rank &&
        ground.cluster().ranks_per_host > 1) {
        throw usage_error("one agent for the buffers of a host cannot be simulated", "agent-scope",
                          "give agent-scope rank, or buffer-scope host");
    }
    if (o.steer.scope == steer::AgentScope::rank && o.buffer_scope == buffer::BufferScope::host &&
        ground.cluster().ranks_per_host > 1) {
        throw usage_error("ranks that share a buffer cannot have an agent each", "agent-scope",
                          "give buffer-scope rank, too, or use agent-scope host");
    }
    any_ = std::ranges::any_of(groups, [](const auto& group) { return group->slots() != 0; });
    if (!any_) return;
    of_job_ = o.steer.scope == steer::AgentScope::job && groups.size() > 1;
    for (const auto& group : groups) {
        const bool leads = !of_job_ || group == groups.front();
        group->steer(std::make_unique<steer::Helm>(helm_options(*group, leads)));
    }
}

steer::HelmOptions SteeredGroups::helm_options(const BufferGroup& group, bool leads) const {
    constexpr std::uint64_t most_threads = 64;
    const TrainOptions& o = ground_.options();
    const ClusterModel& cluster = ground_.cluster();
    steer::HelmOptions helm = steer::helm_options(agent_of(o), group.policy(), group.slots());
    const auto sample_tasks = static_cast<std::uint64_t>(cluster.sample_tasks);
    steer::AgentFacts& facts = helm.facts;
    facts.refit = true;
    facts.seed = o.seed;
    facts.start.bulk = o.bulk;
    facts.start.sample_threads = sample_tasks;
    facts.start.fetch_threads = std::clamp<std::uint64_t>(o.in_flight - 1, 1, most_threads);
    facts.start.in_flight = o.in_flight;
    facts.limits.sample_threads = sample_tasks;
    facts.limits.fetch_threads = o.in_flight;
    facts.limits.in_flight = o.in_flight;
    facts.limits.buckets = 0;
    facts.cost = cluster.hosts() > 1 ? steer::CostKind::seconds : steer::CostKind::rows;
    facts.steps = ground_.steps();
    facts.steps_per_epoch = ground_.schedule().steps_per_epoch();
    facts.run = fmt::format("{}/{}/{}", buffer::graph_checksum(ground_.data().folder().path()),
                            o.seed, groups_.size());
    facts.rank = static_cast<std::uint32_t>(group.first());
    facts.force = o.steer.force;
    facts.llm = o.steer.llm;
    helm.mode = steer::AgentMode::inline_call;
    helm.deadline = o.steer.deadline;
    helm.guard = o.steer.guard;
    helm.deferred = leads && of_job_;
    helm.follower = !leads;
    helm.clock_turn = of_job_;
    helm.watch_class = true;
    helm.row_bytes = ground_.row_bytes();
    helm.halo = group.halo();
    helm.sizes = {o.batch, ground_.data().info().vertices, group.own_vertices()};
    return helm;
}

void SteeredGroups::step_done(std::uint64_t step, std::span<const Rows> rows,
                              const std::vector<RankTimes>& times,
                              std::span<const std::vector<std::uint64_t>> rows_by_owner) {
    const auto first_of = [](const BufferGroup& group) {
        return static_cast<std::size_t>(group.first());
    };
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        Seconds seconds = times[first_of(*groups_[g])].seconds;
        seconds.steps = 1;
        groups_[g]->timed(seconds);
        if (groups_[g]->helm() != nullptr)
            groups_[g]->helm()->timed(step, seconds, rows_by_owner[g]);
    }
    if (!any_) return;
    if (!of_job_) {
        std::vector<float> wishes(times.size(), 0.0F);
        for (const auto& group : groups_)
            wishes[first_of(*group)] = group->helm()->wants_clock() ? 1.0F : 0.0F;
        turns_.update(wishes);
        for (const auto& group : groups_)
            group->helm()->give_clock(turns_.holder() == first_of(*group));
        return;
    }
    steer::Helm& leader = *groups_.front()->helm();
    Rows other_rows;
    Seconds other_seconds;
    for (std::size_t g = 1; g < groups_.size(); ++g) {
        Rows of_group = rows[g];
        of_group.local = 0;
        of_group.needed = of_group.hit + of_group.demand;
        other_rows += of_group;
        other_seconds += times[first_of(*groups_[g])].seconds;
    }
    leader.elsewhere(other_rows, other_seconds);
    if (const auto order = leader.send(step + ground_.options().in_flight + 2)) {
        for (const auto& group : groups_)
            group->helm()->order(*order);
    }
}

std::vector<steer::DecisionRecord> SteeredGroups::decisions(bool all) {
    std::vector<steer::DecisionRecord> records;
    if (!any_) return records;
    for (const auto& group : groups_)
        std::ranges::move(group->helm()->take_records(all), std::back_inserter(records));
    for (steer::DecisionRecord& record : records) {
        record.observation.history.clear();  // the records before
        record.latency = 0;                  // agents are asked by plain calls
    }
    std::ranges::stable_sort(records, {}, &steer::DecisionRecord::step);
    return records;
}

AgentResult SteeredGroups::finish() {
    AgentResult result;
    if (!any_) return result;
    steer::ClassRows beside;
    for (const auto& group : groups_) {
        group->helm()->stop();
        beside += group->helm()->class_rows();
        result.totals += group->helm()->totals();
        if (std::string text = group->helm()->learned(); !text.empty())
            result.learned.push_back(std::move(text));
    }
    // What the program itself took is not the simulated machine's.
    result.totals.cpu_seconds = 0;
    result.totals.mailbox_seconds = 0;
    result.totals.waited_seconds = 0;
    result.regret = steer::regret_of(beside);
    return result;
}

}  // namespace rudder::train
