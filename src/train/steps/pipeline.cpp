#include "pipeline.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"
#include "core/executor/patience.hpp"
#include "core/span.hpp"

namespace rudder::train {

namespace {

enum class Stage : std::uint8_t { free, filling, ready };

struct Slot {
    AssembledStep step;
    buffer::BegunStep begun;
    Stage stage = Stage::free;
    std::uint64_t bytes = 0;  ///< of the rows' memory when they were last ready
};

/// Rows of a step for each of its batches; memory is used again where it is large enough.
void make_room(AssembledStep& step, std::uint64_t row_floats, RowsWatcher* watcher) {
    const std::size_t batches = step.sampled.batches.size();
    step.memory.resize(std::max(step.memory.size(), batches));
    step.rows.clear();
    for (std::size_t i = 0; i < batches; ++i) {
        const std::size_t floats = step.sampled.batches[i].vertices.size() * row_floats;
        if (step.memory[i].size() < floats) {
            if (watcher != nullptr) watcher->ended(step.memory[i].span());
            // A little more than asked for: the next batches are about as large.
            step.memory[i] = Array<float>::uninitialised(floats + floats / 8);
            if (watcher != nullptr) watcher->begun(step.memory[i].span());
        }
        step.rows.push_back(step.memory[i].span().subspan(0, floats));
    }
}

}  // namespace

struct Pipeline::State {
    store::FeatureStore& store;
    buffer::LiveBuffer* buffer;
    RowsWatcher* watcher;
    sample::LookAhead look_ahead;
    std::uint64_t last_step;

    Monitor monitor;
    std::vector<Slot> slots;
    std::uint64_t taken = 0;   ///< steps that tasks have taken from the queue
    std::uint64_t handed = 0;  ///< steps handed out
    bool taking = false;       ///< a task waits for the next step of the queue
    std::optional<Slot> next;  ///< has begun and waits for its place; with a buffer alone
    bool ended = false;        ///< no further step begins
    bool stopping = false;
    std::exception_ptr failure;
    std::uint64_t row_bytes = 0;
    std::uint64_t active;         ///< tasks that may take steps
    std::uint64_t at_a_time;      ///< steps that may have a place
    std::uint64_t asked_window;   ///< steps to sample ahead, whatever the buffer wants
    std::uint64_t sampled_ahead;  ///< as the look-ahead queue is set

    State(const sample::Schedule& schedule, const sample::NeighbourSource& source,
          store::FeatureStore& s, const sample::SamplerOptions& sampler,
          const sample::LookAheadOptions& options, std::uint64_t in_flight, buffer::LiveBuffer* b,
          RowsWatcher* w)
        : store(s),
          buffer(b),
          watcher(w),
          look_ahead(schedule, source, sampler, options),
          last_step(options.last_step),
          slots(in_flight),
          active(std::max<std::uint64_t>(1, in_flight - 1)),
          at_a_time(in_flight),
          asked_window(options.window),
          sampled_ahead(options.window) {}

    [[nodiscard]] Slot& slot(std::uint64_t number) { return slots[number % slots.size()]; }

    /// Whether the next step has a place to go to. Under the lock.
    [[nodiscard]] bool has_place() {
        return taken - handed < at_a_time && slot(taken).stage == Stage::free;
    }

    /// Takes the next step into its slot; null once there are no more.
    Slot* claim(std::uint64_t task) {
        {
            Monitor::Lock lock(monitor);
            monitor.wait(lock, "a free place for the next step", [&] {
                return stopping || (task < active && !taking && has_place() &&
                                    (buffer == nullptr || next || ended));
            });
            if (stopping) return nullptr;
            if (buffer != nullptr) return next ? place_next() : nullptr;
            taking = true;
        }
        sample::SampledStep sampled = look_ahead.take();
        Monitor::Lock lock(monitor);
        taking = false;
        monitor.notify_all();
        if (stopping || sampled.step >= last_step) return nullptr;
        Slot& place = slot(taken++);
        place.step.sampled = std::move(sampled);
        place.stage = Stage::filling;
        return &place;
    }

    /// The step that has begun gets its place. Under the lock.
    Slot* place_next() {
        Slot& place = slot(taken++);
        place.step.take_over(next->step);
        place.begun = std::move(next->begun);
        place.stage = Stage::filling;
        next.reset();
        monitor.notify_all();
        return &place;
    }

    /// Begins steps, one ahead of those that are assembled: what the policy does for the next step
    /// and the questions for its rows do not wait for a place to assemble it in.
    void begin_steps() {
        while (true) {
            {
                Monitor::Lock lock(monitor);
                monitor.wait(lock, "the step begun last to be taken",
                             [&] { return stopping || !next; });
                if (stopping) return;
            }
            Slot begun;
            begun.step.sampled = look_ahead.take();
            const bool last = begun.step.sampled.step >= last_step || !begin(begun);
            Monitor::Lock lock(monitor);
            if (last) {
                ended = true;
            } else {
                next = std::move(begun);
            }
            monitor.notify_all();
            if (last) return;
        }
    }

    /// False if the buffer was halted before its turn came.
    [[nodiscard]] bool begin(Slot& place) {
        AssembledStep& step = place.step;
        const Duration start = Executor::current().now();
        step.knobs = buffer->knobs();
        const std::uint64_t ahead = follow_buffer();
        // What the policy sees of the future must not depend on how fast the sampler happens to be.
        look_ahead.wait_published(step.sampled.step + ahead);
        place.begun = buffer->begin(step.sampled.step, ahead);
        if (!place.begun) return false;
        const buffer::StepRows& rows = place.begun.rows();
        if (rows.knobs) step.knobs = *rows.knobs;
        step.times = rows.times;
        if (step.times) set_times(*step.times);
        step.fetch_seconds = seconds_since(start);
        return true;
    }

    [[nodiscard]] static double seconds_since(Duration start) {
        return std::chrono::duration<double>(Executor::current().now() - start).count();
    }

    /// False if the step was given up, as all are about to stop.
    [[nodiscard]] bool assemble(Slot& place) {
        AssembledStep& step = place.step;
        const Span span("fetching rows", step.sampled.step);
        make_room(step, store.format().row_floats(), watcher);
        std::vector<store::RowsWanted> wanted;
        for (std::size_t i = 0; i < step.rows.size(); ++i) {
            const sample::Batch& batch = step.sampled.batches[i];
            wanted.push_back({batch.vertices, step.rows[i], batch.distinct()});
        }
        const Duration start = Executor::current().now();
        if (buffer == nullptr) {
            store::Pull pull = store.pull(wanted, comm::Kind::requests, store::RowChoice::given);
            const store::Pulled& pulled = pull.wait();
            step.counts = pulled.rows;
            step.bytes_by_owner = pulled.bytes_by_owner;
            step.received = pulled.received;
            step.fetch_seconds = 0;
        } else {
            buffer::StepRows rows;
            if (!buffer->assemble(std::move(place.begun), wanted, rows)) return false;
            step.counts = rows.counts;
            step.bytes_by_owner = std::move(rows.by_owner);
            step.agent_seconds = rows.agent_seconds;
            for (std::uint64_t& bytes : step.bytes_by_owner)
                bytes *= store.format().row_bytes();
        }
        step.fetch_seconds += seconds_since(start);
        for (std::size_t i = 0; watcher != nullptr && i < step.rows.size(); ++i)
            watcher->assembled(step.sampled.batches[i], step.rows[i]);
        return true;
    }

    /// Nobody is to be told of the rows any more.
    void forget_rows() noexcept {
        if (watcher == nullptr) return;
        const auto end = [this](AssembledStep& step) {
            for (Array<float>& memory : step.memory) {
                if (!memory.empty()) watcher->ended(memory.span());
            }
        };
        for (Slot& place : slots)
            end(place.step);
        if (next) end(next->step);
    }

    /// Samples as far ahead as asked, and as the buffer wants to see by now: it may have been
    /// changed. How far that is.
    std::uint64_t follow_buffer() {
        Monitor::Lock lock(monitor);
        const std::uint64_t ahead = buffer->steps_ahead();
        // A few more than it wants to see: they are drawn while it takes the next ones.
        const auto drawn = static_cast<std::uint64_t>(look_ahead.tasks());
        const std::uint64_t window = std::max(asked_window, ahead + 1 + drawn);
        if (std::exchange(sampled_ahead, window) != window) look_ahead.set_window(window);
        return ahead;
    }

    void set_times(const buffer::TimeKnobs& times) {
        store.set_bulk(times.bulk);
        store.set_demand_first(times.demand_first != 0);
        const auto most = static_cast<std::uint64_t>(look_ahead.most_tasks());
        look_ahead.set_tasks(
            static_cast<int>(std::clamp<std::uint64_t>(times.sample_threads, 1, most)));
        Monitor::Lock lock(monitor);
        at_a_time = std::clamp<std::uint64_t>(times.in_flight, 1, slots.size());
        active = std::clamp<std::uint64_t>(times.fetch_threads, 1, slots.size());
        monitor.notify_all();
    }

    void work(std::uint64_t task) {
        while (Slot* place = claim(task)) {
            if (!assemble(*place)) return;
            std::uint64_t bytes = 0;
            for (const auto& memory : place->step.memory)
                bytes += memory.size() * sizeof(float);
            Monitor::Lock lock(monitor);
            place->stage = Stage::ready;
            place->bytes = bytes;
            std::uint64_t all = 0;
            for (const Slot& s : slots)
                all += s.bytes;
            row_bytes = std::max(row_bytes, all);
            monitor.notify_all();
        }
    }

    /// What ends a task is thrown again by `next`.
    template <class Body>
    void guarded(Body&& body) {
        try {
            wait_patiently();
            body();
        } catch (const Cancelled&) {
            throw;
        } catch (...) {
            Monitor::Lock lock(monitor);
            if (failure == nullptr) failure = std::current_exception();
            taking = false;
            ended = true;
            monitor.notify_all();
        }
    }
};

Pipeline::Pipeline(const sample::Schedule& schedule, const sample::NeighbourSource& source,
                   store::FeatureStore& store, const sample::SamplerOptions& sampler,
                   sample::LookAheadOptions look_ahead, std::uint64_t in_flight,
                   buffer::LiveBuffer* buffer, RowsWatcher* watcher) {
    if (buffer != nullptr)
        look_ahead.published = [buffer](const sample::SampledStep& step) { buffer->publish(step); };
    state_ = std::make_shared<State>(schedule, source, store, sampler, look_ahead, in_flight,
                                     buffer, watcher);
    for (std::uint64_t i = 0; i < in_flight; ++i) {
        tasks_.spawn(fmt::format("fetch {}", i),
                     [state = state_, i] { state->guarded([&] { state->work(i); }); });
    }
    if (buffer == nullptr) return;
    // Whoever shares the buffer may want to see further while a step begins.
    buffer->set_sight([weak = std::weak_ptr(state_)](std::uint64_t step, std::uint64_t ahead) {
        const std::shared_ptr<State> state = weak.lock();
        if (state == nullptr) return;
        static_cast<void>(state->follow_buffer());
        state->look_ahead.wait_published(step + ahead);
    });
    tasks_.spawn("beginning", [state = state_] { state->guarded([&] { state->begin_steps(); }); });
}

Pipeline::~Pipeline() {
    halt();
    tasks_.end();
    state_->forget_rows();
}

AssembledStep& Pipeline::next() {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    Slot& place = s.slot(s.handed);
    s.monitor.wait(lock, "the rows of the next step",
                   [&] { return s.failure != nullptr || place.stage == Stage::ready; });
    if (place.stage != Stage::ready) std::rethrow_exception(s.failure);
    return place.step;
}

void Pipeline::release() {
    State& s = *state_;
    Slot& place = s.slot(s.handed);
    s.look_ahead.recycle(std::move(place.step.sampled));
    Monitor::Lock lock(s.monitor);
    place.step.sampled = {};
    place.stage = Stage::free;
    ++s.handed;
    s.monitor.notify_all();
}

/// Nothing new is begun, and nobody waits for it.
void Pipeline::halt() {
    State& s = *state_;
    {
        Monitor::Lock lock(s.monitor);
        s.stopping = true;
        s.monitor.notify_all();
    }
    if (s.buffer != nullptr) s.buffer->halt();
    s.look_ahead.stop();
}

void Pipeline::end_tasks() {
    halt();
    tasks_.join();
}

Rows Pipeline::stop() {
    end_tasks();
    State& s = *state_;
    Rows unused;
    for (std::uint64_t n = s.handed; n < s.taken; ++n) {
        Slot& place = s.slot(n);
        if (place.stage != Stage::ready) continue;
        unused += place.step.counts;
        unused.wasted += place.step.counts.demand;
        place.stage = Stage::free;
    }
    s.handed = s.taken;
    if (s.next && s.next->begun) unused += s.buffer->drop(std::move(s.next->begun));
    if (s.buffer != nullptr) unused += s.buffer->finish();
    return unused;
}

void Pipeline::set_window(std::uint64_t window) {
    Monitor::Lock lock(state_->monitor);
    state_->asked_window = std::max<std::uint64_t>(window, 1);
}

void Pipeline::set_times(const buffer::TimeKnobs& times) {
    state_->set_times(times);
}

buffer::TimeKnobs Pipeline::times() const {
    const auto sampling = static_cast<std::uint64_t>(state_->look_ahead.tasks());
    Monitor::Lock lock(state_->monitor);
    return {.bulk = state_->store.bulk(),
            .sample_threads = sampling,
            .fetch_threads = state_->active,
            .demand_first = state_->store.demand_first() ? 1U : 0U,
            .in_flight = state_->at_a_time};
}

std::uint64_t Pipeline::row_bytes() const {
    Monitor::Lock lock(state_->monitor);
    return state_->row_bytes;
}

sample::LookAhead& Pipeline::look_ahead() noexcept {
    return state_->look_ahead;
}

}  // namespace rudder::train
