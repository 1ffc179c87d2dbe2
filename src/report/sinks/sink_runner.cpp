#include "report/sink_runner.hpp"

#include <atomic>
#include <variant>

#include <fmt/format.h>

#include "core/cpu_meter.hpp"
#include "core/executor/queue.hpp"
#include "core/log.hpp"
#include "core/span.hpp"
#include "rudder/core/error.hpp"

namespace rudder::report {

namespace {

/// Batches that may wait; one has up to 256 steps of every rank.
constexpr std::size_t queue_length = 32;

/// All that came before it has been taken.
struct Mark {
    std::uint64_t number;
};

using Steps = std::vector<train::StepRecord>;
using Decisions = std::vector<steer::DecisionRecord>;
using Item = std::variant<Steps, train::EpochRecord, Decisions, Mark>;

std::int64_t clock_nanoseconds() {
    return Executor::current().now().count();
}

}  // namespace

struct SinkRunner::State {
    std::vector<std::unique_ptr<MetricSink>> sinks;  ///< null: closed by a failure
    std::vector<std::string> names;
    BoundedQueue<Item> queue{queue_length};
    Task task;
    Monitor monitor;          // guards taken
    std::uint64_t taken = 0;  ///< the last mark
    std::uint64_t marks = 0;
    std::uint64_t last_step = 0;
    std::uint64_t lines = 0;
    std::atomic<std::uint64_t> cpu{0};
    std::uint64_t handover = 0;
    std::int64_t flushing = 0;
    bool closed = false;

    void run();
    void take(const Item& item);
    template <class Call>
    void each(Call&& call);
    void hand_over(Item item) { static_cast<void>(queue.push(std::move(item))); }
};

/// Counts what handing over takes.
class SinkRunner::Handover {
public:
    explicit Handover(State& state) : state_(state), start_(thread_cpu_nanoseconds()) {}
    ~Handover() {
        const std::uint64_t taken = thread_cpu_nanoseconds() - start_;
        state_.handover += taken;
        state_.cpu.fetch_add(taken, std::memory_order_relaxed);
    }
    Handover(Handover&&) = delete;

private:
    State& state_;
    std::uint64_t start_;
};

/// What a sink throws ends it, not the run.
template <class Call>
void SinkRunner::State::each(Call&& call) {
    for (auto& sink : sinks) {
        if (sink == nullptr) continue;
        std::string problem;
        try {
            call(*sink);
            continue;
        } catch (const Error& error) {
            problem = fmt::format("{} ({})", error.problem(), error.where());
        } catch (const std::exception& error) {
            problem = error.what();
        }
        // Said in spite of --quiet: what was to be kept is not.
        log::lasting_warning(
            fmt::format("{} ends before step {}: {}; training continues without it", sink->name(),
                        last_step, problem));
        sink.reset();
    }
}

void SinkRunner::State::take(const Item& item) {
    const CpuMeter meter(cpu);
    const Span span("writing metrics");
    if (const auto* steps = std::get_if<Steps>(&item)) {
        if (steps->empty()) return;
        last_step = steps->front().step;
        each([&](MetricSink& sink) { sink.steps(*steps); });
    } else if (const auto* epoch = std::get_if<train::EpochRecord>(&item)) {
        each([&](MetricSink& sink) { sink.epoch(*epoch); });
    } else if (const auto* decisions = std::get_if<Decisions>(&item)) {
        each([&](MetricSink& sink) { sink.decisions(*decisions); });
    } else {
        const Monitor::Lock lock(monitor);
        taken = std::get<Mark>(item).number;
        monitor.notify_all();
    }
}

void SinkRunner::State::run() {
    while (const auto item = queue.pop())
        take(*item);
    const CpuMeter meter(cpu);
    each([](MetricSink& sink) { sink.close(); });
}

SinkRunner::SinkRunner(std::vector<std::unique_ptr<MetricSink>> sinks)
    : state_(std::make_shared<State>()) {
    state_->sinks = std::move(sinks);
    for (const auto& sink : state_->sinks)
        state_->names.emplace_back(sink->name());
    state_->task = Executor::current().spawn("sinks", [state = state_] { state->run(); });
}

SinkRunner::~SinkRunner() {
    state_->queue.close();
    state_->task.settle();
}

void SinkRunner::steps(std::span<const train::StepRecord> steps) {
    const Handover handover(*state_);
    state_->lines += steps.size();
    state_->hand_over(Steps(steps.begin(), steps.end()));
}

void SinkRunner::epoch(const train::EpochRecord& epoch) {
    const Handover handover(*state_);
    state_->hand_over(epoch);
}

void SinkRunner::decisions(std::span<const steer::DecisionRecord> decisions) {
    const Handover handover(*state_);
    state_->hand_over(Decisions(decisions.begin(), decisions.end()));
}

void SinkRunner::flush() {
    if (state_->closed) return;
    const std::int64_t start = clock_nanoseconds();
    const std::uint64_t number = ++state_->marks;
    state_->hand_over(Mark{number});
    {
        Monitor::Lock lock(state_->monitor);
        state_->monitor.wait(lock, "the sinks", [&] { return state_->taken >= number; });
    }
    state_->flushing += clock_nanoseconds() - start;
}

void SinkRunner::close() {
    if (std::exchange(state_->closed, true)) return;
    const std::int64_t start = clock_nanoseconds();
    state_->queue.close();
    state_->task.join();
    state_->flushing += clock_nanoseconds() - start;
}

SinkTotals SinkRunner::totals() const {
    const auto seconds = [](auto nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; };
    std::uint64_t cpu = state_->cpu.load(std::memory_order_relaxed);
    for (const auto& sink : state_->sinks)
        cpu += sink == nullptr ? 0 : sink->cpu_nanoseconds();
    return {state_->names, state_->lines, seconds(cpu), seconds(state_->handover),
            seconds(state_->flushing)};
}

}  // namespace rudder::report
