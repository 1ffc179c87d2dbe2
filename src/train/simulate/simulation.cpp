#include "simulation.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <utility>

#include "core/interrupt.hpp"
#include "core/span.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

#include "buffer_group.hpp"
#include "steered_groups.hpp"
#include "timeline.hpp"

namespace rudder::train {

namespace {

/// Ranks up to which records say how many bytes came from which.
constexpr int most_owners = 64;

/// Calls `f` for each group, on all threads. In few pieces: whoever waits inside of one may take up
/// another meanwhile, on the same stack.
template <class F>
void for_each_group(std::size_t groups, F&& f) {
    constexpr std::size_t pieces = 4;
    const auto threads = static_cast<std::size_t>(thread_count());
    const std::size_t size = std::max<std::size_t>(1, groups / (pieces * threads));
    parallel_chunks(groups, size, [&](const Chunk& chunk) {
        for (std::size_t g = chunk.begin; g < chunk.end; ++g)
            f(g);
    });
}

std::vector<std::unique_ptr<BufferGroup>> make_groups(const SimulatedGround& ground) {
    const ClusterModel& cluster = ground.cluster();
    const bool shared = ground.options().buffer_scope == buffer::BufferScope::host;
    const int size = shared ? cluster.ranks_per_host : 1;
    const int count = (cluster.ranks + size - 1) / size;
    std::vector<std::unique_ptr<BufferGroup>> groups(static_cast<std::size_t>(count));
    for_each_group(groups.size(), [&](std::size_t g) {
        const int first = static_cast<int>(g) * size;
        groups[g] =
            std::make_unique<BufferGroup>(ground, first, std::min(first + size, cluster.ranks));
    });
    return groups;
}

std::vector<Timeline::Group> timeline_groups(std::span<const std::unique_ptr<BufferGroup>> groups) {
    std::vector<Timeline::Group> shapes;
    for (const auto& group : groups) {
        shapes.push_back({.first = group->first(),
                          .last = group->last(),
                          .buffered = group->buffered(),
                          .slots = group->slots()});
    }
    return shapes;
}

}  // namespace

struct Simulation::State {
    SimulatedGround ground;
    std::vector<std::unique_ptr<BufferGroup>> groups;
    SteeredGroups steering;
    std::optional<Timeline> timeline;
    std::vector<std::size_t> group_of;         ///< by rank
    std::vector<std::deque<GroupStep>> plans;  ///< by group: begun, not done
    std::uint64_t planned = 0;                 ///< steps
    std::uint64_t ended = 0;
    /// What steps came to that those who steer have not been told of.
    struct Told {
        std::vector<RankTimes> times;
        std::vector<Rows> rows;  ///< by group
        std::vector<std::vector<std::uint64_t>> by_owner;
    };
    std::deque<Told> untold;
    std::uint64_t told = 0;
    TrainObserver* observer = nullptr;
    TrainResult result;
    std::vector<std::uint64_t> host_bytes;  ///< of rows, received
    Seconds epoch_seconds;
    double epoch_start = 0;
    double busy = 0;  ///< seconds of processors

    State(const partition::PartitionedDataset& data, const TrainOptions& options,
          const ClusterModel& cluster, std::uint64_t steps)
        : ground(data, options, cluster, steps),
          groups(make_groups(ground)),
          steering(ground, groups),
          plans(groups.size()),
          host_bytes(static_cast<std::size_t>(cluster.hosts()), 0) {
        for (std::size_t g = 0; g < groups.size(); ++g) {
            for (int r = groups[g]->first(); r < groups[g]->last(); ++r)
                group_of.push_back(g);
        }
    }

    [[nodiscard]] const GroupStep& plan(std::size_t group, std::uint64_t step);
    void plan_step();
    void step_done(std::uint64_t step, const std::vector<RankTimes>& times);
    [[nodiscard]] std::vector<StepRecord> records_of(std::uint64_t step,
                                                     const std::vector<RankTimes>& times) const;
    void add_bytes(std::vector<StepRecord>& records);
    void note_told(const std::vector<RankTimes>& times);
    void end_epoch(std::uint64_t step);
    void count_up();
};

/// The first group that begins a step has all of them planned: what they know does not depend on
/// who is first.
const GroupStep& Simulation::State::plan(std::size_t group, std::uint64_t step) {
    while (planned <= step)
        plan_step();
    return plans[group][step - ended];
}

void Simulation::State::plan_step() {
    throw_if_interrupted_at_once();
    const std::uint64_t behind = ground.options().in_flight + 2;
    // By now every rank has done these steps.
    while (!untold.empty() && told + behind <= planned) {
        const Told& one = untold.front();
        steering.step_done(told, one.rows, one.times, one.by_owner);
        untold.pop_front();
        ++told;
    }
    observer->decisions(steering.decisions(false));
    const std::uint64_t step = planned++;
    for (std::size_t g = 0; g < groups.size(); ++g)
        plans[g].emplace_back();
    for_each_group(groups.size(), [&](std::size_t g) {
        groups[g]->begin(step, timeline->landed(g), plans[g].back());
    });
}

std::vector<StepRecord> Simulation::State::records_of(std::uint64_t step,
                                                      const std::vector<RankTimes>& times) const {
    std::vector<StepRecord> records(times.size());
    for (std::size_t r = 0; r < records.size(); ++r) {
        const std::size_t g = group_of[r];
        const GroupStep& plan = plans[g].front();
        const auto first = static_cast<std::size_t>(groups[g]->first());
        const RankStep& mine = plan.ranks[r - first];
        StepRecord& record = records[r];
        record.step = step;
        record.epoch = ground.schedule().epoch_of(step);
        record.rank = static_cast<std::uint32_t>(r);
        record.seconds = times[r].seconds;
        record.rows = mine.rows;
        if (r == first) record.rows += plan.beside;
        record.edges = mine.edges;
        record.buffered = plan.knobs.has_value();
        if (plan.knobs) record.knobs = *plan.knobs;
        if (r != first) record.knobs.capacity = 0;  // the first rank's
        record.knobs.sample_threads = static_cast<std::uint64_t>(ground.cluster().sample_tasks);
        record.knobs.fetch_threads = std::max<std::uint64_t>(1, ground.options().in_flight - 1);
        record.knobs.in_flight = ground.options().in_flight;
        record.knobs.bulk = ground.options().bulk;
    }
    return records;
}

/// Each rank receives rows as it asked for them, the questions of others, and its sums.
void Simulation::State::add_bytes(std::vector<StepRecord>& records) {
    const std::uint64_t row = ground.row_bytes();
    const ClusterModel& cluster = ground.cluster();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const GroupStep& plan = plans[g].front();
        StepRecord& first = records[static_cast<std::size_t>(groups[g]->first())];
        const auto add = [&](const FetchedRows& fetched) {
            first.bytes.features += fetched.rows * row;
            for (const RowQuestion& question : fetched.questions)
                records[static_cast<std::size_t>(question.owner)].bytes.requests += question.bytes;
        };
        add(plan.own);
        for (const FetchedRows& fetched : plan.background)
            add(fetched);
        host_bytes[static_cast<std::size_t>(cluster.host_of(groups[g]->first()))] +=
            first.bytes.features;
        if (cluster.ranks > most_owners) continue;
        first.bytes_by_owner.assign(records.size(), 0);
        for (const auto& [owner, rows] : plan.by_owner)
            first.bytes_by_owner[static_cast<std::size_t>(owner)] += rows * row;
        for (int r = groups[g]->first() + 1; r < groups[g]->last(); ++r)
            records[static_cast<std::size_t>(r)].bytes_by_owner.assign(records.size(), 0);
    }
    for (std::size_t r = 0; r < records.size(); ++r)
        records[r].bytes.gradients = ground.sums().received(static_cast<int>(r));
}

void Simulation::State::note_told(const std::vector<RankTimes>& times) {
    Told& one = untold.emplace_back();
    one.times = times;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const GroupStep& plan = plans[g].front();
        Rows& rows = one.rows.emplace_back(plan.beside);
        for (const RankStep& rank : plan.ranks)
            rows += rank.rows;
        std::vector<std::uint64_t>& owners = one.by_owner.emplace_back();
        if (groups[g]->helm() == nullptr) continue;
        owners.assign(times.size(), 0);
        for (const auto& [owner, count] : plan.by_owner)
            owners[static_cast<std::size_t>(owner)] += count;
    }
}

void Simulation::State::step_done(std::uint64_t step, const std::vector<RankTimes>& times) {
    std::vector<StepRecord> records = records_of(step, times);
    add_bytes(records);
    note_told(times);
    for (const StepRecord& record : records) {
        result.rows += record.rows;
        result.step_seconds += record.seconds;
        result.edges += record.edges;
        result.bytes += record.bytes;
        busy += record.seconds.sample + record.seconds.compute;
    }
    observer->step_done(records.front(), ground.steps());
    observer->records(records);
    for (auto& of_group : plans)
        of_group.pop_front();
    ended = step + 1;
    if (ended % ground.schedule().steps_per_epoch() == 0 || ended == ground.steps())
        end_epoch(step);
}

void Simulation::State::end_epoch(std::uint64_t step) {
    EpochRecord epoch;
    epoch.epoch = ground.schedule().epoch_of(step);
    epoch.steps = step + 1 - epoch.epoch * ground.schedule().steps_per_epoch();
    epoch.seconds = to_seconds(timeline->now()) - epoch_start;
    epoch_start = to_seconds(timeline->now());
    result.epochs.push_back(epoch);
    observer->epoch_done(epoch, ground.options().epochs);
}

void Simulation::State::count_up() {
    observer->decisions(steering.decisions(true));
    result.agent = steering.finish();
    result.steps = ground.steps();
    result.steps_per_epoch = ground.schedule().steps_per_epoch();
    result.seconds = to_seconds(timeline->now());
    result.cpu_seconds = busy;
    std::uint64_t floor = 0;
    result.bytes.topology += ground.placement_bytes();
    for (const auto& group : groups) {
        result.rows += group->finish();
        result.bytes.topology += group->setup_bytes();
        result.buffer_bytes += group->slots() * ground.row_bytes();
        result.capacity += group->slots();
        floor += group->floor();
    }
    result.received_total = result.bytes.total();
    result.sent_total = result.received_total;
    result.policy = groups.front()->policy();
    if (policy_of(ground.options()).name() != "none") result.floor = floor;
    result.row_bytes = ground.row_bytes();
    result.sparse = ground.sparse();
    result.topology = "replicated";
}

Simulation::Simulation(const partition::PartitionedDataset& data, const TrainOptions& options,
                       const ClusterModel& cluster, std::uint64_t steps)
    : state_(std::make_unique<State>(data, options, cluster, steps)) {}

Simulation::~Simulation() = default;

std::uint64_t Simulation::steps() const noexcept {
    return state_->ground.steps();
}

std::uint64_t Simulation::steps_per_epoch() const noexcept {
    return state_->ground.schedule().steps_per_epoch();
}

const buffer::PolicySpec& Simulation::policy() const noexcept {
    return state_->groups.front()->policy();
}

Simulated Simulation::run(TrainObserver& observer) {
    const Span span("simulating");
    State& s = *state_;
    RUDDER_CHECK(!s.timeline);
    s.observer = &observer;
    s.timeline.emplace(
        s.ground.cluster(), s.ground.options(), timeline_groups(s.groups), s.ground.sums(),
        s.ground.parameters(), s.ground.row_bytes(), s.ground.steps(),
        Timeline::Asked{
            .plan = [&s](std::size_t group, std::uint64_t step) -> const GroupStep& {
                return s.plan(group, step);
            },
            .edges =
                [&s](int rank, std::uint64_t step) {
                    const std::size_t group = s.group_of[static_cast<std::size_t>(rank)];
                    return s.groups[group]->edges(step, rank);
                },
            .done = [&s](std::uint64_t step,
                         const std::vector<RankTimes>& times) { s.step_done(step, times); }});
    s.timeline->run();
    s.count_up();
    Simulated all{.result = std::move(s.result)};
    const auto sum = std::accumulate(s.host_bytes.begin(), s.host_bytes.end(), std::uint64_t{0});
    if (sum > 0) {
        all.receive_skew = static_cast<double>(std::ranges::max(s.host_bytes)) *
                           static_cast<double>(s.host_bytes.size()) / static_cast<double>(sum);
    }
    return all;
}

}  // namespace rudder::train
