// Verbs of the program for callers in Python: on the ranks of this process's job.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rudder/train/observer.hpp"

namespace rudder::python {

/// What is to be told of a run while it goes on. Training writes, callers take; neither waits for
/// the other.
class RunNews final : public train::TrainObserver {
public:
    struct Step {
        std::uint64_t done = 0;  ///< steps
        std::uint64_t steps = 0;
        double loss = 0;
    };
    struct All {
        std::optional<Step> step{};       ///< the last that was done
        std::vector<std::string> epochs;  ///< as lines of epochs.jsonl
    };

    void step_done(const train::StepRecord& record, std::uint64_t steps) override;
    void epoch_done(const train::EpochRecord& record, std::uint32_t epochs) override;
    /// What there is since the last time.
    [[nodiscard]] All take();

private:
    std::mutex mutex_;
    All all_;
};

struct VerbRequest {
    std::string verb;
    std::vector<std::string> arguments;
};

struct VerbResult {
    int code = 0;
    std::string answer;  ///< as --json prints it; "null" on ranks that print nothing
};

/// Collective where the verb is. What the program takes for its ranks (--ranks, --link and so on)
/// is a usage Error: this process's launcher decides that.
[[nodiscard]] VerbResult run_verb(const VerbRequest& request, RunNews& news);

}  // namespace rudder::python
