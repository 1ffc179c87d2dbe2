#include "rudder/train/pipeline.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/executor/monitor.hpp"
#include "rudder/core/span.hpp"

namespace rudder {

namespace {

enum class Stage : std::uint8_t { free, filling, ready };

struct Slot {
    AssembledStep step;
    Stage stage = Stage::free;
};

/// Rows of a step for each of its batches; memory is used again where it is large enough.
void make_room(AssembledStep& step, std::uint64_t width) {
    const std::size_t batches = step.sampled.batches.size();
    step.memory.resize(std::max(step.memory.size(), batches));
    step.rows.clear();
    for (std::size_t i = 0; i < batches; ++i) {
        const std::size_t floats = step.sampled.batches[i].vertices.size() * width;
        if (step.memory[i].size() < floats) {
            // A little more than asked for: the next batches are about as large.
            step.memory[i] = Array<float>::uninitialised(floats + floats / 8);
        }
        step.rows.push_back(step.memory[i].span().subspan(0, floats));
    }
}

}  // namespace

struct Pipeline::State {
    const FeatureStore& store;
    LookAhead look_ahead;
    std::uint64_t last_step;

    Monitor monitor;
    std::vector<Slot> slots;
    std::uint64_t taken = 0;   ///< steps that tasks have taken from the queue
    std::uint64_t handed = 0;  ///< steps handed out
    bool taking = false;       ///< a task waits for the next step of the queue
    bool stopping = false;
    std::exception_ptr failure;
    std::uint64_t row_bytes = 0;

    State(const Schedule& schedule, const NeighbourSource& source, const FeatureStore& s,
          const SamplerOptions& sampler, LookAheadOptions options, std::uint64_t in_flight)
        : store(s),
          look_ahead(schedule, source, sampler, options),
          last_step(options.last_step),
          slots(in_flight) {}

    [[nodiscard]] Slot& slot(std::uint64_t number) { return slots[number % slots.size()]; }

    /// Takes the next step of the queue into its slot; null once there are no more.
    Slot* claim() {
        {
            Monitor::Lock lock(monitor);
            monitor.wait(lock, "a free place for the next step", [this] {
                return stopping || (!taking && slot(taken).stage == Stage::free);
            });
            if (stopping) return nullptr;
            taking = true;
        }
        SampledStep next = look_ahead.take();
        Monitor::Lock lock(monitor);
        taking = false;
        monitor.notify_all();
        if (stopping || next.step >= last_step) return nullptr;
        Slot& place = slot(taken++);
        place.step.sampled = std::move(next);
        place.stage = Stage::filling;
        return &place;
    }

    void assemble(AssembledStep& step) {
        const Span span("fetching rows");
        make_room(step, store.format().width());
        std::vector<RowsWanted> wanted;
        for (std::size_t i = 0; i < step.rows.size(); ++i)
            wanted.push_back({step.sampled.batches[i].vertices, step.rows[i]});
        const Duration start = Executor::current().now();
        Pull pull = store.pull(wanted);
        step.pulled = pull.wait();
        step.fetch_seconds =
            std::chrono::duration<double>(Executor::current().now() - start).count();
    }

    void work() {
        try {
            while (Slot* place = claim()) {
                assemble(place->step);
                Monitor::Lock lock(monitor);
                place->stage = Stage::ready;
                std::uint64_t bytes = 0;
                for (const Slot& s : slots) {
                    for (const auto& memory : s.step.memory)
                        bytes += memory.size() * sizeof(float);
                }
                row_bytes = std::max(row_bytes, bytes);
                monitor.notify_all();
            }
        } catch (const Cancelled&) {
            throw;
        } catch (...) {
            Monitor::Lock lock(monitor);
            if (failure == nullptr) failure = std::current_exception();
            taking = false;
            monitor.notify_all();
        }
    }
};

Pipeline::Pipeline(const Schedule& schedule, const NeighbourSource& source,
                   const FeatureStore& store, const SamplerOptions& sampler,
                   LookAheadOptions look_ahead, std::uint64_t in_flight)
    : state_(std::make_shared<State>(schedule, source, store, sampler, std::move(look_ahead),
                                     in_flight)) {
    const std::uint64_t tasks = std::max<std::uint64_t>(1, in_flight - 1);
    for (std::uint64_t i = 0; i < tasks; ++i) {
        tasks_.push_back(Executor::current().spawn(fmt::format("fetch {}", i),
                                                   [state = state_] { state->work(); }));
    }
}

Pipeline::~Pipeline() {
    try {
        static_cast<void>(stop());
    } catch (...) {
        for (Task& task : tasks_)
            task.cancel();
    }
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

PullAccounts Pipeline::stop() {
    State& s = *state_;
    {
        Monitor::Lock lock(s.monitor);
        s.stopping = true;
        s.monitor.notify_all();
    }
    s.look_ahead.stop();
    for (Task& task : tasks_)
        task.join();
    tasks_.clear();
    PullAccounts unused;
    for (std::uint64_t n = s.handed; n < s.taken; ++n) {
        Slot& place = s.slot(n);
        if (place.stage != Stage::ready) continue;
        unused.needed += place.step.pulled.needed;
        unused.local += place.step.pulled.local;
        unused.demand += place.step.pulled.demand;
        unused.saved += place.step.pulled.saved;
        place.stage = Stage::free;
    }
    s.handed = s.taken;
    return unused;
}

std::uint64_t Pipeline::row_bytes() const {
    Monitor::Lock lock(state_->monitor);
    return state_->row_bytes;
}

LookAhead& Pipeline::look_ahead() noexcept {
    return state_->look_ahead;
}

}  // namespace rudder
