#include "questions.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/cpu_meter.hpp"
#include "core/span.hpp"

namespace rudder::steer {

Questions::Questions(std::unique_ptr<Agent> agent, const Terms& terms,
                     std::atomic<std::uint64_t>& cpu)
    : agent_(std::move(agent)),
      mode_(terms.mode),
      twice_(terms.twice),
      deadline_(std::chrono::duration_cast<Duration>(
          std::chrono::duration<double>(std::min(terms.deadline, 1e9)))),
      cpu_(cpu) {
    if (mode_ != AgentMode::inline_call)
        task_ = Executor::current().spawn("agent", [this] { work(); });
}

Questions::~Questions() {
    halt();
    task_.end();
}

void Questions::halt() {
    box_.close();
    if (!task_.done()) agent_->cancel();
}

void Questions::stop() {
    halt();
    if (!task_.valid()) return;
    task_.cancel();
    task_.finish();
}

bool Questions::due(std::uint64_t step) const noexcept {
    if (asked_ != nullptr || step < first_) return false;
    // Looked at anew, since an agent may want to be asked less often after an answer.
    return !last_ || step >= *last_ + std::max<std::uint64_t>(1, agent_->interval());
}

void Questions::ask(std::shared_ptr<const Observation> question) {
    last_ = question->step;
    asked_ = std::move(question);
    if (mode_ == AgentMode::inline_call) {
        reply_ = answer_to(*asked_);
        return;
    }
    box_.ask(asked_, Executor::current().now() + deadline_);
    if (mode_ == AgentMode::sync) reply_ = box_.wait();
}

std::optional<Questions::Outcome> Questions::take() {
    if (asked_ == nullptr) return std::nullopt;
    const bool posted = mode_ != AgentMode::inline_call;
    if (!reply_ && posted) reply_ = box_.poll();
    if (!reply_ && (!posted || box_.open())) return std::nullopt;
    return Outcome{std::exchange(asked_, nullptr), std::exchange(reply_, std::nullopt)};
}

/// Asks the agent, on the calling task.
Reply Questions::answer_to(const Observation& observation) {
    const CpuMeter meter(cpu_);
    const Span span("agent");
    const Duration start = Executor::current().now();
    Reply given{.sequence = observation.sequence, .answer = {}, .failure = {}, .seconds = 0};
    try {
        given.answer = agent_->decide(observation);
    } catch (const Cancelled&) {
        throw;
    } catch (const std::exception& error) {
        given.failure = error.what();
        if (given.failure.empty()) given.failure = "failed without a message";
    }
    given.seconds = to_seconds(Executor::current().now() - start);
    return given;
}

/// The agent's task.
void Questions::work() {
    while (const auto observation = box_.take()) {
        Reply given = answer_to(*observation);
        if (twice_) box_.reply(given);
        box_.reply(std::move(given));
    }
}

}  // namespace rudder::steer
