#include "memory_fit.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/text.hpp"

namespace rudder::train {

namespace {

/// Of the buffer that was asked for, what is kept as long as the look-ahead can be shorter.
constexpr double kept_share = 0.25;

/// What of a run can be made smaller.
struct Spare {
    std::uint64_t buffer_bytes = 0;
    std::uint64_t steps_ahead = 0;
};

void scale_buffer(TrainOptions& options, double by) {
    const auto scaled = [by](std::uint64_t size) {
        return static_cast<std::uint64_t>(static_cast<double>(size) * by);
    };
    if (options.buffer_rows) {
        options.buffer_rows = scaled(*options.buffer_rows);
    } else if (options.buffer_bytes) {
        options.buffer_bytes = scaled(*options.buffer_bytes);
    } else {
        options.buffer *= by;
    }
}

void set_steps_ahead(TrainOptions& options, std::uint64_t steps) {
    buffer::PolicySpec policy = policy_of(options);
    if (policy.has("window")) {
        policy.set("window", static_cast<double>(steps));
        options.policy = policy.text();
    }
    options.window = steps;
}

/// What became smaller, in words.
std::string given_up(const FittedTrainer& made, const Spare& asked) {
    std::vector<std::string> words;
    const TrainPlan& plan = made.plan;
    if (plan.buffer_bytes < asked.buffer_bytes) {
        words.push_back(fmt::format("the buffer has {} instead of {}",
                                    format_bytes(plan.buffer_bytes),
                                    format_bytes(asked.buffer_bytes)));
    }
    if (const std::uint64_t ahead = steps_ahead(made.options); ahead < asked.steps_ahead) {
        words.push_back(
            fmt::format("{} steps are looked ahead instead of {}", ahead, asked.steps_ahead));
    }
    if (plan.queue_bytes < plan.queue_asked_bytes) {
        words.push_back(fmt::format("batches sampled ahead have {} instead of {}",
                                    format_bytes(plan.queue_bytes),
                                    format_bytes(plan.queue_asked_bytes)));
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::optional<TrainOptions> with_less(const TrainPlan& plan, const TrainOptions& options,
                                      std::uint64_t memory, double& share) {
    TrainOptions less = options;
    const auto buffer = static_cast<double>(plan.buffer_bytes);
    const auto excess = static_cast<double>(plan.needed_bytes() - memory);
    if (plan.buffer_bytes > 0 && share > kept_share) {
        // A little less than would just do: bookkeeping and rows are whole numbers.
        const double wanted = std::max(0.0, 1 - excess / buffer) * 0.98;
        const double by = std::max(wanted, kept_share / share);
        scale_buffer(less, by);
        share *= by;
        return less;
    }
    const std::uint64_t ahead = steps_ahead(options);
    if (ahead > 1 && plan.queue_bytes > 0) {
        set_steps_ahead(less, ahead / 2);
        return less;
    }
    if (plan.buffer_bytes == 0) return std::nullopt;
    scale_buffer(less, 0);
    return less;
}

FittedTrainer make_fitting_trainer(const comm::Communicator& comm,
                                   const partition::PartitionedDataset& data,
                                   const TrainOptions& options) {
    FittedTrainer made{.options = options};
    made.options.shrinks = options.memory != 0;
    std::optional<Spare> asked;
    double share = 1;
    for (;;) {
        made.trainer = std::make_unique<Trainer>(comm, data, made.options);
        if (options.memory == 0) return made;
        made.plan = made.trainer->plan();
        if (!asked) asked = Spare{made.plan.buffer_bytes, steps_ahead(made.options)};
        if (made.plan.needed_bytes() <= options.memory) break;
        const auto less = with_less(made.plan, made.options, options.memory, share);
        if (!less) return made;
        made.trainer.reset();  // before the next one takes its memory
        made.options = *less;
        made.options.verify = false;  // done
    }
    made.options.verify = options.verify;
    made.options.shrinks = false;
    made.given_up = given_up(made, *asked);
    return made;
}

}  // namespace rudder::train
