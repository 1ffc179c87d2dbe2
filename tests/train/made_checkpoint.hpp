// A checkpoint to write and read in tests.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/core/random.hpp"
#include "train/checkpoints/checkpoint.hpp"

namespace rudder::test {

/// A checkpoint of that step, with numbers that no other has.
inline train::Checkpoint made_checkpoint(std::uint64_t step) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = step}), 0);
    const auto floats = [&](std::size_t count) {
        std::vector<float> values(count);
        for (float& value : values)
            value = static_cast<float>(draws.uniform() - 0.5);
        return values;
    };
    train::Checkpoint c;
    c.identity.network.inputs = 3;
    c.identity.network.outputs = 2;
    c.identity.network.class_weights = {0.25F, 4};
    c.identity.train.seed = draws.below(1000);
    c.identity.train.fanout = {3, -1};
    c.identity.train.lr_schedule = "step:3,0.5";
    c.identity.data = "a/b \"c\"";
    c.identity.data_checksum = "0123";
    if (step % 2 == 0) {  // earlier versions did not keep it
        c.identity.trained_on = {
            .row_normalise = true, .symmetric = false, .class_names = {"a \"b\"", "\u00e9"}};
    }
    c.parameters = {{"first.weight", {2, 3}, 0, 6}, {"second", {4}, 8, 4, false}};
    c.weights = floats(12);
    c.weights[6] = c.weights[7] = 0;  // between two parameters
    c.memory = {{"m", floats(12)}, {"v", floats(12)}};
    c.optimiser_steps = step + 1;
    if (step % 2 == 0) c.under_evaluation = floats(12);
    c.state.step = step;
    c.state.digest = draws.next64();
    c.state.first_loss = static_cast<float>(draws.uniform());
    c.state.last_loss = 1e-30F;
    c.state.epochs.resize(2);
    c.state.epochs[1].epoch = 1;
    c.state.epochs[1].loss = draws.uniform();
    if (step % 3 == 0) c.state.best_epoch = 1;
    c.state.rate_factor = 0.1 + 0.2;
    c.state.stopped_early = step % 2 == 1;
    c.state.counts.rows.demand = draws.below(1U << 30U);
    c.state.counts.wall_seconds = draws.uniform();
    c.state.metrics_bytes = draws.below(1U << 30U);
    return c;
}

}  // namespace rudder::test
