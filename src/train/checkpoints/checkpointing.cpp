#include "checkpointing.hpp"

namespace rudder::train {

Checkpointing::Checkpointing(const CheckpointPlan& plan, const TrainOptions& options,
                             const Learner& learner)
    : plan_(plan), options_(options), learner_(learner) {
    if (!writes()) return;
    Checkpoint memory = plan_.keeper->take();
    learner_.save(memory);
    if (plan_.every_seconds > 0) copy_floats(learner_.weights(), memory.under_evaluation);
    plan_.keeper->keep(std::move(memory));
}

bool Checkpointing::due_after(std::uint32_t epoch) const noexcept {
    const std::uint32_t every = plan_.every_epochs;
    return every != 0 && (epoch + 1) % every == 0;
}

bool Checkpointing::due_by_clock() const {
    return writes() && plan_.every_seconds > 0 && watch_.passed() >= plan_.every_seconds;
}

RunIdentity Checkpointing::identity() const {
    return {.network = learner_.options(),
            .train = options_,
            .data = plan_.data,
            .data_checksum = plan_.data_checksum,
            .trained_on = learner_.trained_on()};
}

void Checkpointing::write(RunState state, std::span<const float> under_evaluation,
                          std::vector<std::string> open_decisions, LearnedState learned) {
    Checkpoint checkpoint = plan_.keeper->take();
    checkpoint.identity = identity();
    checkpoint.state = std::move(state);
    learner_.save(checkpoint);
    copy_floats(under_evaluation, checkpoint.under_evaluation);
    checkpoint.open_decisions = std::move(open_decisions);
    checkpoint.learned = std::move(learned);
    plan_.keeper->write(std::move(checkpoint));
}

void Checkpointing::best(std::uint64_t step, const RunState& state, std::span<const float> weights,
                         LearnedState learned) {
    if (!writes() || plan_.keeper->best(step)) return;
    Checkpoint best;
    best.identity = identity();
    best.state = state;
    best.state.step = step;
    best.parameters = learner_.parameters();
    copy_floats(weights, best.weights);
    best.learned = std::move(learned);
    plan_.keeper->write_best(std::move(best));
}

void Checkpointing::wait() {
    if (writes()) plan_.keeper->wait();
}

}  // namespace rudder::train
