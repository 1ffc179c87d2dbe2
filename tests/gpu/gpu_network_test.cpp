// Whole networks on a GPU: against the twin to the bit, against the CPU, and again.
#include <cmath>

#include "gpu/device_case.hpp"
#include "gpu/gpu_case.hpp"

namespace rudder {

using namespace testing;

namespace {

using GpuNetwork = OnGpu;

nn::DeviceLearning on_gpu(const nn::NetworkOptions& options,
                          nn::DeviceProducts products = nn::DeviceProducts::own) {
    return nn::make_device_learning(nn::open_device(0, products), options, {});
}

}  // namespace

TEST_F(GpuNetwork, ProductsOfOursGiveTheGradientsOfTheTwinToTheBit) {
    for (const Case& c : device_cases()) {
        SCOPED_TRACE(name_of(c));
        const nn::DeviceLearning gpu = on_gpu(c.options);
        const nn::DeviceLearning twin =
            nn::make_device_learning(nn::make_twin_device(), c.options, {});
        stir(*gpu.network);
        stir(*twin.network);
        const float weight = 1.F / static_cast<float>(c.batch.seeds);
        const Outcome ours = train_once(*gpu.network, c, weight);
        const Outcome theirs = train_once(*twin.network, c, weight);
        EXPECT_NEAR(static_cast<double>(ours.result.loss), static_cast<double>(theirs.result.loss),
                    1e-6 * std::fabs(static_cast<double>(theirs.result.loss)));
        EXPECT_EQ(ours.result.correct, theirs.result.correct);
        expect_gradients_near(*twin.network, ours.gradient, theirs.gradient, 1e-6);
        EXPECT_TRUE(same_bits(ours.gradient, theirs.gradient));
    }
}

/// What compute-sanitizer runs: every kernel, in little time.
TEST_F(GpuNetwork, SmallPassesAndSteps) {
    for (const DeviceVariant& variant : device_variants) {
        for (const auto objective :
             {nn::Objective::classes, nn::Objective::multilabel, nn::Objective::regression}) {
            auto options = options_of(variant, objective, 9, 12, 3, 2);
            options.input_dropout = 0.2;
            BatchShape shape;
            shape.seeds = 9;
            std::vector<Case> cases;
            cases.emplace_back(options, shape);
            nn::OptimiserOptions optimiser;
            optimiser.name = objective == nn::Objective::classes ? "adam" : "sgd";
            optimiser.clip = 0.5;
            const auto run = [&](const std::shared_ptr<nn::Device>& device) {
                const nn::DeviceLearning made =
                    nn::make_device_learning(device, cases.front().options, optimiser);
                return train_steps(*made.network, *made.optimiser, cases, 2);
            };
            EXPECT_TRUE(same_bits(run(nn::open_device(0, nn::DeviceProducts::own)).weights,
                                  run(nn::make_twin_device()).weights))
                << name_of(cases.front());
        }
    }
}

TEST_F(GpuNetwork, ProductsOfTheLibraryGiveTheGradientsOfTheCpu) {
    for (const Case& c : device_cases()) {
        SCOPED_TRACE(name_of(c));
        const nn::DeviceLearning gpu = on_gpu(c.options, nn::DeviceProducts::choose);
        const auto cpu = nn::make_network(c.options);
        stir(*gpu.network);
        stir(*cpu);
        const float weight = 1.F / static_cast<float>(c.batch.seeds);
        const Outcome ours = train_once(*gpu.network, c, weight);
        const Outcome theirs = train_once(*cpu, c, weight);
        EXPECT_NEAR(static_cast<double>(ours.result.loss), static_cast<double>(theirs.result.loss),
                    1e-5 * std::fabs(static_cast<double>(theirs.result.loss)));
        expect_gradients_near(*cpu, ours.gradient, theirs.gradient, 2e-4);
    }
}

TEST_F(GpuNetwork, FiftyStepsRepeatToTheBitAndStayBesideTheCpu) {
    for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
        auto cases = run_cases({model, "batch", true}, 5);
        const nn::NetworkOptions& options = cases.front().options;
        const nn::DeviceLearning first = on_gpu(options, nn::DeviceProducts::choose);
        const nn::DeviceLearning second = on_gpu(options, nn::DeviceProducts::choose);
        const ShortRun one = train_steps(*first.network, *first.optimiser, cases, 50);
        const ShortRun two = train_steps(*second.network, *second.optimiser, cases, 50);
        EXPECT_TRUE(same_bits(one.losses, two.losses)) << model;
        EXPECT_TRUE(same_bits(one.weights, two.weights)) << model;
        const auto cpu = nn::make_network(options);
        const auto adam = nn::make_optimiser({}, cpu->parameters());
        const ShortRun theirs = train_steps(*cpu, *adam, cases, 50);
        double worst = 0;
        for (std::size_t i = 0; i < theirs.losses.size(); ++i) {
            const auto loss = static_cast<double>(theirs.losses[i]);
            const double off = std::fabs(static_cast<double>(one.losses[i]) - loss) / loss;
            worst = std::max(worst, off);
            EXPECT_LT(off, i == 0 ? 1e-5 : 1e-3) << model << " step " << i;
        }
        std::printf("%s: losses of 50 steps differ from the CPU's by at most %.2g of them\n", model,
                    worst);
    }
}

TEST_F(GpuNetwork, ABatchUploadedAheadFromPinnedRowsGivesTheSame) {
    auto cases = run_cases({"gat", "batch", true}, 4);
    const nn::NetworkOptions& options = cases.front().options;
    const auto device = nn::open_device(0);
    const nn::DeviceLearning plain = nn::make_device_learning(device, options, {});
    const nn::DeviceLearning ahead = nn::make_device_learning(device, options, {});
    for (Case& c : cases) {
        ahead.network->rows_begin(std::as_writable_bytes(std::span(c.rows)));
        ahead.network->stage(c.batch, c.rows);
    }
    for (Case& c : cases) {
        const Outcome wanted = train_once(*plain.network, c, 0.01F);
        const Outcome got = train_once(*ahead.network, c, 0.01F);
        EXPECT_TRUE(same_bits(got.gradient, wanted.gradient));
        ahead.network->rows_end(std::as_writable_bytes(std::span(c.rows)));
    }
}

TEST_F(GpuNetwork, GoesOnFromTheCpuAndBack) {
    auto cases = run_cases({"sage", "batch", true}, 3);
    const nn::NetworkOptions& options = cases.front().options;
    const auto cpu = nn::make_network(options);
    const auto on_cpu = nn::make_optimiser({}, cpu->parameters());
    static_cast<void>(train_steps(*cpu, *on_cpu, cases, 6));
    const nn::DeviceLearning gpu = on_gpu(options, nn::DeviceProducts::choose);
    std::ranges::copy(cpu->weights(), gpu.network->weights().begin());
    gpu.network->weights_written();
    const auto saved = on_cpu->memory();
    const auto restored = gpu.optimiser->memory();
    for (std::size_t i = 0; i < saved.size(); ++i)
        std::ranges::copy(saved[i].values, restored[i].values.begin());
    gpu.optimiser->set_steps(on_cpu->steps());
    const ShortRun theirs = train_steps(*cpu, *on_cpu, cases, 6);
    const ShortRun ours = train_steps(*gpu.network, *gpu.optimiser, cases, 6);
    for (std::size_t i = 0; i < 6; ++i) {
        const auto loss = static_cast<double>(theirs.losses[i]);
        EXPECT_NEAR(static_cast<double>(ours.losses[i]), loss, 1e-4 * loss) << i;
    }
}

}  // namespace rudder
