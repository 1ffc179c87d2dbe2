#include "run_buffer.hpp"

#include <algorithm>
#include <utility>

#include "comm/together.hpp"
#include "steer/agents/adaptive_window.hpp"

namespace rudder::train {

std::optional<buffer::TraceHeader> trace_header(const Ground& ground, const BufferSetup& setup) {
    const TrainOptions& options = ground.options;
    const comm::Communicator& comm = ground.comm;
    const bool alone = options.buffer_scope == buffer::BufferScope::rank;
    if (options.trace.empty() || (!alone && comm.host().rank() != 0)) return std::nullopt;
    const comm::HostMap& hosts = comm.hosts();
    const int here = comm.global_rank(comm.rank());
    buffer::TraceHeader header;
    header.host = static_cast<std::uint64_t>(alone ? here : hosts.host_of(here));
    header.hosts = static_cast<std::uint64_t>(alone ? comm.size() : hosts.hosts());
    header.vertices = ground.data.info().vertices;
    header.steps_per_epoch = ground.schedule.steps_per_epoch();
    header.capacity = setup.slots;
    header.row_bytes = ground.store.format().row_bytes();
    header.precision = to_string(options.precision);
    header.policy = setup.policy.text();
    header.graph = buffer::graph_checksum(ground.data.folder().path());
    header.seed = options.seed;
    header.batch = options.batch;
    header.own_vertices = setup.own_vertices();
    return header;
}

RunBuffer::RunBuffer(Ground& ground, const BufferSetup& setup, Steering* steering,
                     std::uint64_t first)
    : ground_(ground),
      setup_(setup),
      steering_(steering),
      trace_(make_trace(first)),
      window_pilot_(make_window_pilot()),
      live_(make_live(first)),
      room_(setup.slots) {}

std::unique_ptr<buffer::TraceWriter> RunBuffer::make_trace(std::uint64_t first) const {
    if (ground_.options.trace.empty()) return nullptr;
    ground_.comm.barrier();  // the first rank has made the folder of the run
    std::unique_ptr<buffer::TraceWriter> trace;
    comm::do_together(ground_.comm, [&] {
        const buffer::HaloFacts& facts = setup_.facts;
        if (const auto header = trace_header(ground_, setup_)) {
            trace = std::make_unique<buffer::TraceWriter>(
                ground_.options.trace, *header, facts.halo, facts.degree, facts.inclusion, first);
        }
    });
    return trace;
}

/// An agent that was asked for has the window to itself.
std::unique_ptr<steer::RulePilot> RunBuffer::make_window_pilot() const {
    if (!setup_.used || steering_ != nullptr || !window_adapts(ground_.options)) return nullptr;
    buffer::Knobs start;
    start.policy = setup_.policy;
    start.capacity = setup_.slots;
    return std::make_unique<steer::RulePilot>(steer::make_adaptive_window(), start);
}

std::unique_ptr<buffer::LiveBuffer> RunBuffer::make_live(std::uint64_t first) {
    if (!setup_.used) return nullptr;
    buffer::LiveBufferOptions options{.policy = setup_.policy,
                                      .slots = setup_.slots,
                                      .floor_slots = setup_.floor_slots,
                                      .scope = ground_.options.buffer_scope,
                                      .first_step = std::min(first, ground_.steps()),
                                      .last_step = ground_.steps(),
                                      .vertices = ground_.data.info().vertices,
                                      .local = setup_.local,
                                      .apart = setup_.apart,
                                      .parts = setup_.parts,
                                      .repeats = ground_.options.temporal != sample::Temporal::off,
                                      .facts = setup_.facts,
                                      .record = {},
                                      .count_floor = watches(ground_.options)};
    if (trace_ != nullptr) {
        options.record = [this](std::span<const VertexId> ids) { trace_->step(ids); };
        options.past = [this](const buffer::StepSink& sink) { trace_->show_steps(sink); };
    }
    options.pilot = steering_ != nullptr ? steering_->pilot() : window_pilot_.get();
    return std::make_unique<buffer::LiveBuffer>(ground_.comm, ground_.store, std::move(options));
}

void RunBuffer::adapt_window(const Seconds& seconds, Pipeline& pipeline) {
    if (window_pilot_ == nullptr) return;
    Seconds timed = seconds;
    timed.steps = 1;
    window_pilot_->timed(timed, pipeline.look_ahead().waiting_bytes(), ground_.queue_limit());
    pipeline.set_window(buffer::horizon_of(window_pilot_->setting().policy));
}

void RunBuffer::share_knobs(std::span<StepRecord> records) const {
    const bool changes = steering_ != nullptr || window_pilot_ != nullptr;
    if (!changes || ground_.options.buffer_scope == buffer::BufferScope::rank) return;
    const comm::HostMap& hosts = ground_.comm.hosts();
    for (std::size_t i = 0; i < records.size(); ++i) {
        StepRecord& record = records[i];
        const int here = ground_.comm.global_rank(static_cast<int>(record.rank));
        const int first = ground_.comm.group_rank(hosts.members(hosts.host_of(here)).front());
        const auto back = record.rank - static_cast<std::uint32_t>(first);
        if (back == 0 || back > i || records[i - back].step != record.step) continue;
        record.knobs.policy = records[i - back].knobs.policy;
        record.knobs.capacity = records[i - back].knobs.capacity;
    }
}

std::optional<RunBuffer::Cut> RunBuffer::give_back() {
    constexpr buffer::SlotId least_share = 16;
    const buffer::SlotId less = room_ - (room_ + 3) / 4;
    if (live_ == nullptr || !live_->first() || less < setup_.slots / least_share || less == 0)
        return std::nullopt;
    live_->limit(less);
    const std::uint64_t row = ground_.store.format().row_bytes();
    return Cut{.before = std::exchange(room_, less) * row, .after = less * row};
}

void RunBuffer::flush_trace() {
    if (trace_ != nullptr) trace_->flush();
}

void RunBuffer::finish_trace(std::uint64_t steps) {
    if (trace_ != nullptr) trace_->finish(steps);
}

double RunBuffer::policy_seconds() const {
    return live_ == nullptr ? 0 : live_->policy_seconds();
}

double RunBuffer::pilot_seconds() const {
    return live_ == nullptr ? 0 : live_->pilot_seconds();
}

void RunBuffer::close(ClosingFigures& figures) const {
    if (live_ == nullptr) return;
    figures.in_flight_bytes += live_->landing_bytes();
    figures.buffer_bytes = live_->slot_bytes();
    figures.policy_seconds = live_->policy_seconds();
    figures.pilot_seconds = live_->pilot_seconds();
    figures.capacity = setup_.slots;
    if (has_floor()) figures.floor = live_->floor();
}

}  // namespace rudder::train
