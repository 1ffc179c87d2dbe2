// The buffer and the trace of a run.
#include <algorithm>

#include "comm/together.hpp"
#include "steer/agents/adaptive_window.hpp"

#include "run.hpp"

namespace rudder::train {

std::optional<buffer::TraceHeader> Trainer::State::trace_header() const {
    const bool alone = options.buffer_scope == buffer::BufferScope::rank;
    if (options.trace.empty() || (!alone && comm.host().rank() != 0)) return std::nullopt;
    const comm::HostMap& hosts = comm.hosts();
    const int here = comm.global_rank(comm.rank());
    buffer::TraceHeader header;
    header.host = static_cast<std::uint64_t>(alone ? here : hosts.host_of(here));
    header.hosts = static_cast<std::uint64_t>(alone ? comm.size() : hosts.hosts());
    header.vertices = data.info().vertices;
    header.steps_per_epoch = schedule.steps_per_epoch();
    header.capacity = buffer.slots;
    header.row_bytes = store.format().row_bytes();
    header.precision = to_string(options.precision);
    header.policy = buffer.policy.text();
    header.graph = buffer::graph_checksum(data.folder().path());
    header.seed = options.seed;
    header.batch = options.batch;
    header.own_vertices = buffer.own_vertices();
    return header;
}

void Trainer::State::expect_trace() const {
    comm::do_together(comm, [&] {
        if (const auto header = trace_header(); header && start.step > 0)
            buffer::TraceWriter::expect(options.trace, *header, start.step);
    });
}

std::unique_ptr<buffer::TraceWriter> Run::make_trace() const {
    if (s_.options.trace.empty()) return nullptr;
    s_.comm.barrier();  // the first rank has made the folder of the run
    std::unique_ptr<buffer::TraceWriter> trace;
    comm::do_together(s_.comm, [&] {
        const buffer::HaloFacts& facts = s_.buffer.facts;
        if (const auto header = s_.trace_header()) {
            trace =
                std::make_unique<buffer::TraceWriter>(s_.options.trace, *header, facts.halo,
                                                      facts.degree, facts.inclusion, s_.start.step);
        }
    });
    return trace;
}

std::unique_ptr<buffer::LiveBuffer> Run::make_buffer() const {
    const BufferSetup& setup = s_.buffer;
    if (!setup.used) return nullptr;
    buffer::LiveBufferOptions options{.policy = setup.policy,
                                      .slots = setup.slots,
                                      .floor_slots = setup.floor_slots,
                                      .scope = s_.options.buffer_scope,
                                      .first_step = std::min(s_.start.step, steps_),
                                      .last_step = steps_,
                                      .vertices = s_.data.info().vertices,
                                      .local = setup.local,
                                      .parts = setup.parts,
                                      .facts = setup.facts,
                                      .record = {},
                                      .keep_steps = s_.options.floor || !s_.options.trace.empty()};
    if (trace_ != nullptr) {
        options.record = [this](std::span<const VertexId> ids) { trace_->step(ids); };
        options.past = trace_->steps();
    }
    options.pilot = steering_ != nullptr ? steering_->pilot() : window_pilot_.get();
    return std::make_unique<buffer::LiveBuffer>(s_.comm, s_.store, std::move(options));
}

void Run::note_knobs(const AssembledStep& step, StepRecord& record) {
    record.buffered = step.knobs.has_value();
    if (step.knobs) record.knobs = *step.knobs;
    record.knobs.bulk = pipeline_.bulk();
    record.knobs.sample_threads = static_cast<std::uint64_t>(pipeline_.look_ahead().tasks());
    record.knobs.fetch_threads = pipeline_.fetch_tasks();
}

/// Ranks that share a buffer know nothing of its knobs: the first one's are theirs.
void Run::share_knobs(std::span<StepRecord> records) const {
    const bool changes = steering_ != nullptr || window_pilot_ != nullptr;
    if (!changes || s_.options.buffer_scope == buffer::BufferScope::rank) return;
    const comm::HostMap& hosts = s_.comm.hosts();
    for (std::size_t i = 0; i < records.size(); ++i) {
        StepRecord& record = records[i];
        const int here = s_.comm.global_rank(static_cast<int>(record.rank));
        const int first = s_.comm.group_rank(hosts.members(hosts.host_of(here)).front());
        const auto back = record.rank - static_cast<std::uint32_t>(first);
        if (back == 0 || back > i || records[i - back].step != record.step) continue;
        record.knobs.policy = records[i - back].knobs.policy;
        record.knobs.capacity = records[i - back].knobs.capacity;
    }
}

/// An agent that was asked for has the window to itself.
std::unique_ptr<steer::RulePilot> Run::make_window_pilot() const {
    if (!s_.buffer.used || steering_ != nullptr || !window_adapts(s_.options)) return nullptr;
    steer::Setting start;
    start.policy = s_.buffer.policy;
    start.capacity = s_.buffer.slots;
    return std::make_unique<steer::RulePilot>(steer::make_adaptive_window(), start);
}

/// Only what is fetched when depends on it.
void Run::adapt_window(const Seconds& seconds) {
    if (window_pilot_ == nullptr) return;
    Seconds timed = seconds;
    timed.steps = 1;
    window_pilot_->timed(timed, pipeline_.look_ahead().waiting_bytes(), s_.queue_limit());
    pipeline_.set_window(buffer::horizon_of(window_pilot_->setting().policy));
}

}  // namespace rudder::train
