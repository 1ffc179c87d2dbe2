#include "steering.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <unistd.h>

#include "comm/together.hpp"
#include "core/cpu_meter.hpp"
#include "core/field_parts.hpp"
#include "core/json.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "steer/helm/helm_options.hpp"

namespace rudder::train {

namespace {

// What travels with the gradients: an order (1, then two bytes per float, which a float holds
// exactly), then counts of the buffers that follow.
constexpr std::size_t order_floats = 1 + sizeof(steer::PackedOrder) / 2;
using OrderWords = std::array<std::uint16_t, sizeof(steer::PackedOrder) / 2>;
/// That the knobs have.
constexpr std::uint64_t most_threads = 64;
constexpr std::size_t count_floats = field_count<Rows> + field_count<Seconds>;

/// Rows and seconds as they are summed with the gradients, field by field.
struct FollowerCounts {
    Rows rows;
    Seconds seconds;

    void write(std::span<float> floats) const {
        std::size_t at = 0;
        for_each_field<Rows>(
            [&](const auto& f) { floats[at++] = static_cast<float>(rows.*f.member); });
        for_each_field<Seconds>(
            [&](const auto& f) { floats[at++] = static_cast<float>(seconds.*f.member); });
    }
    void read(std::span<const float> floats) {
        std::size_t at = 0;
        for_each_field<Rows>([&](const auto& f) {
            rows.*f.member = static_cast<std::uint64_t>(std::llround(floats[at++]));
        });
        for_each_field<Seconds>([&]<class M>(const Field<Seconds, M>& f) {
            seconds.*f.member = static_cast<M>(floats[at++]);
        });
    }
};

void write_order(const steer::PackedOrder& order, std::span<float> extra) {
    extra[0] = 1;
    std::ranges::copy(std::bit_cast<OrderWords>(order), extra.subspan(1).begin());
}

steer::PackedOrder read_order(std::span<const float> extra) {
    OrderWords words;
    std::ranges::transform(extra.subspan(1, words.size()), words.begin(),
                           [](float word) { return static_cast<std::uint16_t>(word); });
    return std::bit_cast<steer::PackedOrder>(words);
}

/// Whether the ranks run on more than one machine, whatever hosts they are told to be.
bool several_machines(const comm::Communicator& comm) {
    std::array<char, 256> name{};
    static_cast<void>(::gethostname(name.data(), name.size() - 1));
    const auto here = static_cast<std::int64_t>(hash_bytes(std::as_bytes(std::span(name))) >> 1U);
    return comm.all_min(here) != comm.all_max(here);
}

/// A scope that the buffers do not allow.
void check_scope(const Ground& ground) {
    const bool shared = ground.options.buffer_scope == buffer::BufferScope::host &&
                        ground.comm.all_max(ground.comm.host().size()) > 1;
    if (ground.options.steer.scope != steer::AgentScope::rank || !shared) return;
    throw usage_error("ranks that share a buffer cannot have an agent each", "--agent-scope",
                      "give --buffer-scope rank, too, or use --agent-scope host");
}

}  // namespace

int Steering::most_sample_tasks(const TrainOptions& options) {
    constexpr int enough = 4;
    const int tasks = sampling_tasks(options);
    return steered(options) ? std::max(tasks, std::min(enough, thread_count())) : tasks;
}

std::size_t Steering::extra_floats(const TrainOptions& options, int ranks) {
    if (!steered(options) || options.steer.collect) return 0;
    if (options.steer.scope == steer::AgentScope::job) return order_floats + count_floats;
    return static_cast<std::size_t>(ranks);  // who wants the clock
}

bool Steering::takes_turns() const {
    const TrainOptions& o = ground_.options;
    return !o.steer.collect && o.steer.scope != steer::AgentScope::job;
}

std::unique_ptr<Steering> Steering::make(const Ground& ground, const BufferSetup& setup,
                                         std::uint64_t most_groups) {
    if (!steered(ground.options) || !setup.used) return nullptr;
    check_scope(ground);
    auto made = std::unique_ptr<Steering>(new Steering(ground, setup, most_groups));
    // Where no row comes from elsewhere there is nothing to steer; the agent was checked, though.
    const bool nothing = ground.comm.all_max(setup.slots == 0 ? 0 : 1) == 0;
    return nothing ? nullptr : std::move(made);
}

Steering::Steering(const Ground& ground, const BufferSetup& setup, std::uint64_t most_groups)
    : ground_(ground), setup_(setup), agent_(agent_of(ground.options)) {
    const TrainOptions& o = ground_.options;
    const int here = ground_.comm.host().rank();
    host_first_ = here == 0;
    const bool several = ground_.comm.host().size() > 1;
    const bool alone = o.buffer_scope == buffer::BufferScope::rank;
    first_ = alone || here == 0;
    leads_ = first_;
    if (o.steer.collect) {  // every buffer has a collector of its own
        road_ = Road::none;
    } else if (o.steer.scope == steer::AgentScope::job) {
        road_ = ground_.comm.size() > 1 ? Road::gradients : Road::none;
        leads_ = ground_.comm.rank() == 0;
    } else if (o.steer.scope == steer::AgentScope::host && alone && several) {
        road_ = Road::board;
        leads_ = here == 0;
    }
    // Ranks that share a buffer are told of threads by the one that has the helm.
    if (several && (road_ == Road::board || !alone)) board_.emplace(ground_.comm);
    const steer::HelmOptions options = helm_options(most_groups);
    // An agent that lacks something says so on all ranks.
    comm::do_together(ground_.comm, [&] {
        if (!first_) return;
        if (o.steer.collect) {
            collector_ = steer::make_collector(options, *o.steer.collect);
            helm_ = &collector_->helm();
        } else {
            own_helm_ = std::make_unique<steer::Helm>(options);
            helm_ = own_helm_.get();
        }
    });
}

steer::CostKind Steering::cost() const {
    const bool apart = several_machines(ground_.comm);
    return ground_.options.steer.link || apart ? steer::CostKind::seconds : steer::CostKind::rows;
}

/// What a language model is told of the run.
std::string Steering::about_run() const {
    const graph::DatasetInfo& info = ground_.data.info();
    const TrainOptions& o = ground_.options;
    return fmt::format(
        "graph: {} vertices, {} edges, {} parts\n"
        "run: {} ranks on {} hosts, model {} of {} layers, batches of {} seeds per part, "
        "{} neighbours per layer\n"
        "steps per epoch: {}, epochs: {}",
        info.vertices, info.edges, ground_.data.parts(), ground_.comm.size(),
        ground_.comm.hosts().hosts(), o.model, o.layers, o.batch, fmt::join(o.fanout, ","),
        ground_.schedule.steps_per_epoch(), o.epochs);
}

steer::HelmOptions Steering::helm_options(std::uint64_t most_groups) {
    const TrainOptions& o = ground_.options;
    const std::uint64_t buffers = static_cast<std::uint64_t>(
        o.buffer_scope == buffer::BufferScope::rank ? ground_.comm.size()
                                                    : ground_.comm.hosts().hosts());
    steer::HelmOptions helm = steer::helm_options(*agent_, setup_.policy, setup_.slots);
    steer::AgentFacts& facts = helm.facts;
    facts.refit = true;
    facts.seed = o.seed;
    facts.start.bulk = o.bulk;
    facts.start.sample_threads = static_cast<std::uint64_t>(sampling_tasks(o));
    facts.start.fetch_threads = std::clamp<std::uint64_t>(o.in_flight - 1, 1, most_threads);
    facts.start.in_flight = o.in_flight;
    facts.limits.sample_threads = static_cast<std::uint64_t>(most_sample_tasks(o));
    facts.limits.fetch_threads = o.in_flight;
    facts.limits.in_flight = o.in_flight;
    // All ranks see those orders alone that travel with the gradients.
    facts.limits.buckets = road_ == Road::gradients ? most_groups : 0;
    facts.cost = cost();
    facts.steps = ground_.steps();
    facts.steps_per_epoch = ground_.schedule.steps_per_epoch();
    facts.run = fmt::format("{}/{}/{}", buffer::graph_checksum(ground_.data.folder().path()),
                            o.seed, buffers);
    facts.rank = static_cast<std::uint32_t>(ground_.comm.rank());
    facts.force = o.steer.force;
    facts.llm = o.steer.llm;
    if (facts.llm.about.empty()) facts.llm.about = about_run();
    helm.mode = o.steer.mode;
    helm.deadline = o.steer.deadline;
    helm.guard = o.steer.guard;
    helm.replies_twice = o.steer.replies_twice;
    helm.deferred = leads_ && road_ != Road::none;
    helm.follower = !leads_;
    helm.clock_turn = !takes_turns();
    helm.watch_class = !o.steer.collect;
    helm.row_bytes = ground_.store.format().row_bytes();
    helm.halo = setup_.facts.halo.size();
    helm.sizes = {o.batch, ground_.data.info().vertices, setup_.own_vertices()};
    return helm;
}

void Steering::share_times(const buffer::TimeKnobs& times) {
    if (!board_ || road_ == Road::board || !first_) return;
    std::vector<steer::KnobChange> changes;
    for_each_field<buffer::TimeKnobs>([&](const auto& f) {
        steer::KnobChange& change = changes.emplace_back();  // GCC 12 warns where one is moved
        change.id = steer::knob(f.name, "a knob of time").id;
        change.value = static_cast<double>(times.*f.member);
    });
    board_->post(steer::pack({steer::Action::set(std::move(changes), steer::Reason::none), 0, 0}));
}

void Steering::send(std::uint64_t step, const Rows& rows, std::span<float> extra) {
    if (takes_turns()) {
        const bool wants = leads_ && helm_ != nullptr && helm_->wants_clock();
        extra[static_cast<std::size_t>(ground_.comm.rank())] = wants ? 1.0F : 0.0F;
    }
    if (road_ != Road::gradients) return;
    const auto counts = extra.subspan(order_floats);
    if (leads_) {
        // By then no rank has begun the step: it has as many places as steps in flight.
        if (const auto order = helm_->send(step + ground_.options.in_flight + 2))
            write_order(steer::pack(*order), extra);
        return;
    }
    // Ranks of the first host that share its buffer are counted there.
    const bool counted = ground_.options.buffer_scope == buffer::BufferScope::host &&
                         ground_.comm.hosts().same(ground_.comm.global_rank(ground_.comm.rank()),
                                                   ground_.comm.global_rank(0));
    if (counted) return;
    FollowerCounts own{.rows = rows, .seconds = first_ ? last_ : Seconds{}};
    own.rows.local = 0;  // a buffer's rows are remote
    own.rows.needed = rows.hit + rows.demand;
    own.seconds.steps = 0;  // they are the leader's steps, too
    own.write(counts);
}

void Steering::receive(std::uint64_t step, std::span<const float> sum, Pipeline& pipeline) {
    if (takes_turns()) {
        turns_.update(sum);
        const auto own = static_cast<std::size_t>(ground_.comm.rank());
        if (leads_ && helm_ != nullptr) helm_->give_clock(turns_.holder() == own);
    }
    if (road_ == Road::gradients) {
        if (sum[0] > 0) {
            const steer::Order order = steer::unpack(read_order(sum));
            note_groups(order);
            if (helm_) helm_->order(order);  // the leader's has kept what it sent
        }
        if (leads_) {
            FollowerCounts others;
            others.read(sum.subspan(order_floats));
            helm_->elsewhere(others.rows, others.seconds);
        }
    }
    if (!board_) return;
    if (road_ == Road::board && leads_) {
        if (const auto order = helm_->send(step + ground_.options.in_flight + 2))
            board_->post(steer::pack(*order));
        return;
    }
    if (host_first_) return;
    while (const auto order = board_->poll())
        take_order(steer::unpack(*order), pipeline);
}

void Steering::note_groups(const steer::Order& order) {
    for (const steer::KnobChange& change : order.action.knobs) {
        if (change.id != steer::KnobId::buckets) continue;
        divisions_.push_back(
            {order.effective_step, static_cast<std::uint64_t>(std::get<double>(change.value))});
    }
}

std::uint64_t Steering::groups(std::uint64_t step) {
    while (!divisions_.empty() && divisions_.front().step <= step) {
        groups_ = divisions_.front().groups;
        divisions_.pop_front();
    }
    return groups_;
}

void Steering::take_order(const steer::Order& order, Pipeline& pipeline) {
    if (helm_) {
        helm_->order(order);
        return;
    }
    buffer::TimeKnobs times = pipeline.times();
    for (const steer::KnobChange& change : order.action.knobs) {
        if (auto* value = member_named<std::uint64_t>(times, steer::knob(change.id).name))
            *value = static_cast<std::uint64_t>(std::get<double>(change.value));
    }
    pipeline.set_times(times);
}

void Steering::step_done(const StepRecord& record) {
    last_ = record.seconds;
    last_.steps = 1;
    if (!helm_) return;
    std::vector<std::uint64_t> rows = record.bytes_by_owner;
    for (std::uint64_t& bytes : rows)
        bytes /= ground_.store.format().row_bytes();
    helm_->timed(record.step, last_, rows);
    if (collector_) collector_->timed(record.step, last_);
}

}  // namespace rudder::train
