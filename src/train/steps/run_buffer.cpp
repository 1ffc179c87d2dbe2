// The buffer and the trace of a run.
#include <algorithm>

#include "comm/together.hpp"

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
    if (pilot_ != nullptr) options.pilot = pilot_->buffer_pilot();
    if (trace_ != nullptr) {
        options.record = [this](std::span<const VertexId> ids) { trace_->step(ids); };
        options.past = trace_->steps();
    }
    if (steering_ != nullptr) options.pilot = steering_->pilot();
    return std::make_unique<buffer::LiveBuffer>(s_.comm, s_.store, std::move(options));
}

void Run::note_knobs(const AssembledStep& step, StepRecord& record) {
    record.policy = step.knobs.policy ? step.knobs.policy->text() : "";
    record.window = step.knobs.window;
    record.capacity = step.knobs.capacity;
    record.bulk = pipeline_.bulk();
    record.sample_threads = static_cast<std::uint64_t>(pipeline_.look_ahead().tasks());
    record.fetch_threads = pipeline_.fetch_tasks();
}

/// Ranks that share a buffer know nothing of its knobs: the first one's are theirs.
void Run::share_knobs(std::span<StepRecord> records) const {
    if (steering_ == nullptr || s_.options.buffer_scope == buffer::BufferScope::rank) return;
    const comm::HostMap& hosts = s_.comm.hosts();
    for (std::size_t i = 0; i < records.size(); ++i) {
        StepRecord& record = records[i];
        const int here = s_.comm.global_rank(static_cast<int>(record.rank));
        const int first = s_.comm.group_rank(hosts.members(hosts.host_of(here)).front());
        const auto back = record.rank - static_cast<std::uint32_t>(first);
        if (back == 0 || back > i || records[i - back].step != record.step) continue;
        record.policy = records[i - back].policy;
        record.window = records[i - back].window;
        record.capacity = records[i - back].capacity;
    }
}

/// Unless the window is fixed: twice as long where steps wait for rows and the queue has room, half
/// as long where the queue fills its memory. Only what is fetched when depends on it.
void Run::adapt_window(const StepRecord& record) {
    constexpr std::uint32_t stretch = 32;
    constexpr std::uint64_t longest = 64;
    constexpr std::uint64_t shortest = 4;
    constexpr double much_stall = 0.05;
    // An agent has the window to itself.
    if (buffer_ == nullptr || steering_ != nullptr || !window_adapts(s_.options)) return;
    stretch_ += record.seconds;
    if (++stretch_steps_ < stretch) return;
    const bool waits = stretch_.stall > much_stall * stretch_.step;
    const std::uint64_t bytes = pipeline_.look_ahead().waiting_bytes();
    const std::uint64_t limit = s_.queue_limit();
    const std::uint64_t before = window_;
    if (bytes > limit / 10 * 9) {
        window_ = std::max(shortest, window_ / 2);
    } else if (waits && bytes < limit / 4) {
        window_ = std::min(longest, window_ * 2);
    }
    if (window_ != before) pipeline_.set_window(window_);
    stretch_ = {};
    stretch_steps_ = 0;
}

}  // namespace rudder::train
