// Networks on a device and on the CPU, for the same cases.
#pragma once

#include <array>
#include <cstring>

#include "nn/gpu/device_learning.hpp"
#include "nn/network_case.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::testing {

/// A kind of network.
struct DeviceVariant {
    const char* model;
    const char* norm;
    bool residual;
};
inline constexpr std::array<DeviceVariant, 12> device_variants{{{"sage", "none", false},
                                                                {"sage", "batch", true},
                                                                {"sage", "layer", false},
                                                                {"gcn", "none", false},
                                                                {"gcn", "batch", false},
                                                                {"gcn", "layer", true},
                                                                {"gat", "none", false},
                                                                {"gat", "batch", true},
                                                                {"gat", "layer", false},
                                                                {"gatv2", "none", true},
                                                                {"gatv2", "batch", false},
                                                                {"gatv2", "layer", true}}};

inline nn::NetworkOptions options_of(const DeviceVariant& variant, nn::Objective objective,
                                     std::uint64_t inputs, std::uint64_t hidden,
                                     std::uint64_t outputs, std::uint64_t heads) {
    nn::NetworkOptions made = small(objective, inputs, hidden, outputs);
    made.model = variant.model;
    made.norm = variant.norm;
    made.residual = variant.residual;
    made.heads = heads;
    made.dropout = 0.4;
    return made;
}

/// The cases that all comparisons run: every kind, objectives, depths, odd widths, empty rows.
inline std::vector<Case> device_cases() {
    std::vector<Case> cases;
    std::uint64_t seed = 1;
    const std::vector<std::vector<std::uint32_t>> fanouts{{5}, {3, 4}, {2, 3, 4}};
    for (const DeviceVariant& variant : device_variants) {
        for (const nn::Objective objective :
             {nn::Objective::classes, nn::Objective::multilabel, nn::Objective::regression}) {
            const std::uint64_t heads = 1 + seed % 4;
            const std::uint64_t hidden = heads * (5 + seed % 40);
            const std::uint64_t inputs = seed % 2 == 0 ? hidden : 3 + seed * 37 % 150;
            nn::NetworkOptions options =
                options_of(variant, objective, inputs, hidden, 2 + seed % 45, heads);
            options.input_dropout = seed % 3 == 0 ? 0.3 : 0.0;
            if (objective == nn::Objective::classes && seed % 2 == 1)
                options.class_weights.assign(options.outputs, 1.5F);
            BatchShape shape;
            shape.seeds = 1 + static_cast<std::uint32_t>(seed * 17 % 90);
            shape.fanouts = fanouts[seed % fanouts.size()];
            shape.seed = seed++;
            cases.emplace_back(options, shape);
        }
    }
    return cases;
}

/// In words, for messages.
inline std::string name_of(const Case& c) {
    return c.options.model + " " + c.options.norm + (c.options.residual ? " residual" : "") + " " +
           std::to_string(c.options.layers) + " layers, seed " + std::to_string(c.options.seed);
}

/// Weights of everything differ from their beginnings, which are 0 or 1 for many.
inline void stir(nn::Network& network) {
    const auto noise = random_floats(network.weights().size(), 5, 0.3F);
    for (const nn::Parameter& p : network.parameters()) {
        for (std::size_t i = p.offset; i < p.offset + p.size; ++i)
            network.weights()[i] += noise[i];
    }
    network.weights_written();
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// Where a parameter's gradient is most different, relative to its largest element.
inline void expect_gradients_near(const nn::Network& network, std::span<const float> ours,
                                  std::span<const float> theirs, double tolerance) {
    for (const nn::Parameter& p : network.parameters()) {
        const double scale = largest(theirs.subspan(p.offset, p.size));
        for (std::size_t i = p.offset; i < p.offset + p.size; ++i) {
            ASSERT_NEAR(static_cast<double>(ours[i]), static_cast<double>(theirs[i]),
                        tolerance * scale)
                << p.name << " element " << i - p.offset;
        }
    }
}

/// Batches of one run of four heads.
inline std::vector<Case> run_cases(const DeviceVariant& variant, std::uint64_t batches) {
    const auto options = options_of(variant, nn::Objective::classes, 30, 32, 6, 4);
    std::vector<Case> cases;
    for (std::uint64_t seed = 1; seed <= batches; ++seed) {
        BatchShape shape;
        shape.seed = seed;
        shape.seeds = 100;
        cases.emplace_back(options, shape);
        cases.back().options.seed = 1;
    }
    return cases;
}

/// Steps of a training run over a few batches: losses, then the weights.
struct ShortRun {
    std::vector<float> losses;
    std::vector<float> weights;
};
inline ShortRun train_steps(nn::Network& network, nn::Optimiser& optimiser,
                            std::vector<Case>& cases, std::size_t steps, double rate = 0.01) {
    ShortRun run;
    std::vector<float> gradient(network.weights().size());
    for (std::size_t step = 0; step < steps; ++step) {
        Case& c = cases[step % cases.size()];
        c.batch.key.step = step;
        const float weight = 1.F / static_cast<float>(c.batch.seeds);
        const nn::BatchResult result =
            network.train(c.batch, c.rows, c.targets(), weight, gradient, [](std::size_t) {});
        run.losses.push_back(result.loss);
        network.absorb_statistics(gradient);
        optimiser.step(network.weights(), gradient, rate);
    }
    const auto weights = network.weights();
    run.weights.assign(weights.begin(), weights.end());
    return run;
}

}  // namespace rudder::testing
