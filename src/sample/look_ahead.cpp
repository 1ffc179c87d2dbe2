#include "look_ahead.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <optional>

#include <fmt/format.h>

#include "core/executor/monitor.hpp"
#include "core/span.hpp"

#include "batch_sampler.hpp"

namespace rudder::sample {

namespace {

std::uint64_t bytes_of(const SampledStep& step) {
    std::uint64_t sum = 0;
    for (const Batch& batch : step.batches)
        sum += batch.bytes();
    return sum;
}

}  // namespace

/// Steps [taken, claimed) have a place in the ring; those below `published` can be taken.
struct LookAhead::State {
    struct Place {
        std::optional<SampledStep> step;  ///< once it is sampled
        std::uint64_t bytes = 0;
    };

    const Schedule& schedule;
    const NeighbourSource& source;
    SamplerOptions sampling;
    LookAheadOptions options;

    mutable Monitor monitor;  ///< guards what follows
    std::deque<Place> ring;
    std::uint64_t taken;
    std::uint64_t published;
    std::uint64_t claimed;
    std::uint64_t waiting_bytes = 0;
    std::uint64_t largest = 0;  ///< bytes of the largest step so far
    std::uint64_t passed = 0;   ///< steps before it are not sampled any more
    bool publishing = false;
    bool stopped = false;
    std::exception_ptr failure;
    std::vector<SampledStep> spare;

    State(const Schedule& s, const NeighbourSource& n, const SamplerOptions& sampler,
          LookAheadOptions o)
        : schedule(s),
          source(n),
          sampling(sampler),
          options(std::move(o)),
          taken(options.first_step),
          published(options.first_step),
          claimed(options.first_step) {}

    [[nodiscard]] bool ended() const { return stopped || failure != nullptr; }

    /// Whether one more step may be begun. Steps in hand count as large as the largest so far, so
    /// the bound can be exceeded by what a step is larger than all before it.
    [[nodiscard]] bool room() const {
        if (claimed - taken >= options.window) return false;
        if (options.max_bytes == 0 || claimed == taken) return true;
        const auto in_hand = static_cast<std::uint64_t>(
            std::ranges::count_if(ring, [](const Place& place) { return !place.step; }));
        if (largest == 0) return in_hand == 0;
        return waiting_bytes + (in_hand + 1) * largest <= options.max_bytes;
    }

    void run(int task) {
        std::optional<BatchSampler> sampler;  // made when it is first needed: it is large
        try {
            while (auto claimed_step = claim(task)) {
                if (!sampler) sampler.emplace(schedule, source, sampling);
                sample(*sampler, *claimed_step);
                place(std::move(claimed_step->step));
                publish();
            }
        } catch (const Cancelled&) {
            throw;
        } catch (...) {
            Monitor::Lock lock(monitor);
            if (failure == nullptr) failure = std::current_exception();
            monitor.notify_all();
        }
    }

    struct Claimed {
        SampledStep step;
        bool empty;  ///< it is passed over
    };
    [[nodiscard]] std::optional<Claimed> claim(int task) {
        Monitor::Lock lock(monitor);
        monitor.wait(lock, "room in the look-ahead queue", [&] {
            return ended() || claimed == options.last_step || (task < options.tasks && room());
        });
        if (ended() || claimed == options.last_step) return std::nullopt;
        SampledStep step;
        if (!spare.empty()) {
            step = std::move(spare.back());
            spare.pop_back();
        }
        step.step = claimed++;
        ring.emplace_back();
        const bool empty = step.step < passed;
        return Claimed{std::move(step), empty};
    }

    void sample(BatchSampler& sampler, Claimed& of) const {
        SampledStep& step = of.step;
        const Span span("sampling", step.step);
        const Duration start = Executor::current().now();
        step.epoch = schedule.epoch_of(step.step);
        step.batches.resize(options.parts.size());
        for (std::size_t i = 0; i < options.parts.size(); ++i) {
            if (of.empty) {
                sampler.sample_nothing(options.parts[i], step.step, step.batches[i]);
            } else {
                sampler.sample(options.parts[i], step.step, step.batches[i]);
            }
        }
        step.seconds = std::chrono::duration<double>(Executor::current().now() - start).count();
    }

    void place(SampledStep step) {
        Monitor::Lock lock(monitor);
        const std::uint64_t bytes = bytes_of(step);
        Place& place = ring[step.step - taken];
        place.bytes = bytes;
        place.step = std::move(step);
        waiting_bytes += bytes;
        largest = std::max(largest, bytes);
        monitor.notify_all();
    }

    /// Tells of the steps whose turn it is, unless another task is about it; they can be taken
    /// then. Until then their places stay where they are, so no lock is held while it tells.
    void publish() {
        const SampledStep* step = begin_publishing();
        while (step != nullptr) {
            if (options.published) options.published(*step);
            step = go_on_publishing();
        }
    }
    [[nodiscard]] const SampledStep* begin_publishing() {
        Monitor::Lock lock(monitor);
        if (publishing) return nullptr;
        return next_to_publish();
    }
    [[nodiscard]] const SampledStep* go_on_publishing() {
        Monitor::Lock lock(monitor);
        ++published;
        monitor.notify_all();
        return next_to_publish();
    }
    [[nodiscard]] const SampledStep* next_to_publish() {
        publishing = !ended() && published < claimed && ring[published - taken].step.has_value();
        return publishing ? &*ring[published - taken].step : nullptr;
    }

    [[nodiscard]] SampledStep take() {
        Monitor::Lock lock(monitor);
        monitor.wait(lock, "a sampled step",
                     [this] { return ended() || published > taken || taken == options.last_step; });
        if (stopped) {
            throw Error(ErrorKind::failed, "sampling was stopped", "the look-ahead queue",
                        "take no step after stop");
        }
        if (published == taken) {
            if (failure != nullptr) std::rethrow_exception(failure);
            SampledStep none;
            none.step = options.last_step;
            none.epoch = schedule.epoch_of(none.step);
            return none;
        }
        SampledStep step = std::move(*ring.front().step);
        waiting_bytes -= ring.front().bytes;
        ring.pop_front();
        ++taken;
        monitor.notify_all();
        return step;
    }

    void wait_published(std::uint64_t step) {
        Monitor::Lock lock(monitor);
        monitor.wait(lock, "steps sampled ahead", [&] {
            return ended() || published > step || published == options.last_step ||
                   (published == claimed && !room());
        });
    }

    void stop() {
        Monitor::Lock lock(monitor);
        stopped = true;
        monitor.notify_all();
    }
};

LookAhead::LookAhead(const Schedule& schedule, const NeighbourSource& source,
                     const SamplerOptions& sampler, LookAheadOptions options) {
    RUDDER_CHECK(options.window >= 1 && options.tasks >= 1);
    options.most_tasks = std::max(options.most_tasks, options.tasks);
    const int most = options.most_tasks;
    RUDDER_CHECK(options.first_step <= options.last_step);
    state_ = std::make_shared<State>(schedule, source, sampler, std::move(options));
    for (int i = 0; i < most; ++i) {
        tasks_.spawn(fmt::format("sampler {}", i), [state = state_, i] { state->run(i); });
    }
}

LookAhead::~LookAhead() {
    stop();
}

SampledStep LookAhead::take() {
    return state_->take();
}

void LookAhead::wait_published(std::uint64_t step) const {
    state_->wait_published(step);
}

void LookAhead::recycle(SampledStep step) {
    Monitor::Lock lock(state_->monitor);
    if (state_->spare.size() < static_cast<std::size_t>(state_->options.tasks) + 2)
        state_->spare.push_back(std::move(step));
}

void LookAhead::pass_over(std::uint64_t end) {
    Monitor::Lock lock(state_->monitor);
    state_->passed = std::max(state_->passed, end);
}

void LookAhead::set_window(std::uint64_t window) {
    RUDDER_CHECK(window >= 1);
    Monitor::Lock lock(state_->monitor);
    state_->options.window = window;
    state_->monitor.notify_all();
}

void LookAhead::set_max_bytes(std::uint64_t bytes) {
    std::vector<SampledStep> given_back;
    Monitor::Lock lock(state_->monitor);
    state_->options.max_bytes = bytes;
    given_back.swap(state_->spare);
    state_->monitor.notify_all();
}

void LookAhead::set_tasks(int tasks) {
    RUDDER_CHECK(tasks >= 1 && tasks <= most_tasks());
    Monitor::Lock lock(state_->monitor);
    state_->options.tasks = tasks;
    state_->monitor.notify_all();
}

int LookAhead::tasks() const {
    Monitor::Lock lock(state_->monitor);
    return state_->options.tasks;
}

int LookAhead::most_tasks() const noexcept {
    return state_->options.most_tasks;
}

std::uint64_t LookAhead::waiting() const {
    Monitor::Lock lock(state_->monitor);
    return state_->published - state_->taken;
}

std::uint64_t LookAhead::waiting_bytes() const {
    Monitor::Lock lock(state_->monitor);
    return state_->waiting_bytes;
}

void LookAhead::stop() {
    state_->stop();
    // Those that wait for messages may wait for ranks that will never answer.
    tasks_.end();
}

}  // namespace rudder::sample
