// Asks an agent, on a task of its own or by a plain call, and fetches what it answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/executor/executor.hpp"

#include "helm.hpp"

namespace rudder::steer {

/// One question at a time. All calls but `counts` are of the task that runs the steps.
class Questions {
public:
    /// How the agent is asked.
    struct Terms {
        AgentMode mode = AgentMode::async;
        double deadline = 30;  ///< seconds
        bool twice = false;    ///< HelmOptions::replies_twice
    };
    /// Where the agent is asked on its own task, that begins. `cpu` (nanoseconds) must outlive it.
    Questions(std::unique_ptr<Agent> agent, const Terms& terms, std::atomic<std::uint64_t>& cpu);
    /// Ends the agent's task.
    ~Questions();

    /// What came of a question: an answer, or nothing within the deadline.
    struct Outcome {
        std::shared_ptr<const Observation> question;
        std::optional<Reply> reply;
    };

    /// Whether the agent may be asked something: nothing is open, and its interval has passed.
    [[nodiscard]] bool due(std::uint64_t step) const noexcept;
    /// Asks; in modes other than async it waits for the answer.
    void ask(std::shared_ptr<const Observation> question);
    /// What came of the open question, once.
    [[nodiscard]] std::optional<Outcome> take();
    /// The number of the next question.
    [[nodiscard]] std::uint64_t next_sequence() noexcept { return ++sequence_; }
    /// No question comes before this step.
    void start(std::uint64_t step) noexcept {
        first_ = step;
        last_.reset();
    }

    [[nodiscard]] MailCounts counts() const { return box_.counts(); }
    [[nodiscard]] std::string learned() const { return agent_->learned(); }
    /// The agent is asked no more; its task ends.
    void stop();

private:
    [[nodiscard]] Reply answer_to(const Observation& observation);
    void work();
    void halt();

    std::unique_ptr<Agent> agent_;
    AgentMode mode_;
    bool twice_;
    Duration deadline_;
    std::atomic<std::uint64_t>& cpu_;
    Mailbox box_;
    Task task_;
    std::uint64_t first_ = 0;            ///< no question comes before this step
    std::optional<std::uint64_t> last_;  ///< the step of the last question
    std::uint64_t sequence_ = 0;
    std::shared_ptr<const Observation> asked_;  ///< and not dealt with
    std::optional<Reply> reply_;                ///< of a plain call, or waited for
};

}  // namespace rudder::steer
