#include "rudder/train/trainer.hpp"

#include "comm/together.hpp"
#include "core/packed.hpp"
#include "core/span.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/steps/run.hpp"

namespace rudder::train {

Trainer::State::State(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                      const TrainOptions& options)
    : ground(comm, data, options),
      buffer(set_up_buffer(ground)),
      learner(ground),
      rows(ground.store.learned().empty() ? nullptr : std::make_unique<RowLearner>(ground)),
      exchange(comm, ground.share, data.parts(),
               {.size = learner.weights().size(),
                .buckets = learner.network().buckets(),
                .extra = Steering::extra_floats(options, ground.comm.size()),
                .precision = options.gradient_precision == "bfloat16" ? comm::SumPrecision::bfloat16
                                                                      : comm::SumPrecision::float32,
                .coder = ground.coders.gradients}),
      steering(Steering::make(ground, buffer, exchange.most_groups())),
      evaluation(ground, learner) {}

Trainer::Trainer(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                 const TrainOptions& options)
    : state_(std::make_unique<State>(comm, data, options)) {}

Trainer::~Trainer() = default;

void Trainer::resume(const Checkpoint* checkpoint) {
    const Span span("resuming");
    State& s = *state_;
    const Ground& ground = s.ground;
    std::vector<std::byte> state;
    if (checkpoint != nullptr) {
        state = packed(checkpoint->state);
        s.unevaluated = checkpoint->under_evaluation;
    }
    comm::share(ground.comm, state);
    comm::share(ground.comm, s.unevaluated);
    s.start = unpacked<RunState>(state);
    for (EpochRecord& epoch : s.start.epochs)
        epoch.regression = s.learner.regression();
    // A trace that does not reach where the run goes on is refused.
    comm::do_together(ground.comm, [&] {
        if (const auto header = trace_header(ground, s.buffer); header && s.start.step > 0)
            buffer::TraceWriter::expect(ground.options.trace, *header, s.start.step);
    });
    s.learner.restore(checkpoint);
    if (s.rows != nullptr) {
        s.rows->restore(checkpoint != nullptr ? checkpoint->learned : LearnedState(),
                        "the checkpoint");
    }
    const auto weights = s.learner.weights();
    if (s.unevaluated.empty()) s.unevaluated.assign(weights.begin(), weights.end());
}

TrainResult Trainer::run(TrainObserver& observer, const CheckpointPlan& checkpoints) {
    Run run(*state_, observer, checkpoints);
    return run.train();
}

std::uint64_t Trainer::steps_per_epoch() const noexcept {
    return state_->ground.schedule.steps_per_epoch();
}

const buffer::PolicySpec& Trainer::policy() const noexcept {
    return state_->buffer.policy;
}

const nn::NetworkOptions& Trainer::network_options() const noexcept {
    return state_->learner.options();
}

std::span<const float> Trainer::weights() const {
    return state_->learner.weights();
}

}  // namespace rudder::train
