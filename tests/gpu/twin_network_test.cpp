// The network of a device, on the twin, against the CPU's: what kernels compute is right, without a
// GPU.
#include <cmath>

#include "nn/gpu/device_inputs.hpp"

#include "gpu/device_case.hpp"

namespace rudder {

using namespace testing;

namespace {

nn::DeviceLearning on_twin(const nn::NetworkOptions& options,
                           const nn::OptimiserOptions& optimiser = {}) {
    return nn::make_device_learning(nn::make_twin_device(), options, optimiser);
}

void compare_with_cpu(const Case& c) {
    SCOPED_TRACE(name_of(c));
    const auto cpu = nn::make_network(c.options);
    const nn::DeviceLearning device = on_twin(c.options);
    stir(*cpu);
    stir(*device.network);
    const float weight = 1.F / static_cast<float>(c.batch.seeds);
    const Outcome theirs = train_once(*cpu, c, weight);
    const Outcome ours = train_once(*device.network, c, weight);
    EXPECT_NEAR(static_cast<double>(ours.result.loss), static_cast<double>(theirs.result.loss),
                1e-5 * std::fabs(static_cast<double>(theirs.result.loss)));
    EXPECT_EQ(ours.result.correct, theirs.result.correct);
    EXPECT_EQ(ours.result.answers, theirs.result.answers);
    EXPECT_EQ(ours.ready, theirs.ready);
    expect_gradients_near(*cpu, ours.gradient, theirs.gradient, 2e-4);
}

}  // namespace

TEST(TwinNetwork, GivesTheGradientsOfTheCpu) {
    for (const Case& c : device_cases())
        compare_with_cpu(c);
}

TEST(TwinNetwork, OneRowOneSeedAndRowsWithoutNeighbours) {
    for (const DeviceVariant& variant : device_variants) {
        BatchShape shape;
        shape.seeds = 1;
        shape.fanouts = {1, 1};
        shape.isolated = 100;
        compare_with_cpu({options_of(variant, nn::Objective::classes, 1, 4, 2, 2), shape});
    }
}

TEST(TwinNetwork, MoreRowsThanAStretchAndMoreColumnsThanARound) {
    for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
        BatchShape shape;
        shape.seeds = 700;
        shape.fanouts = {2, 2};
        auto options = options_of({model, "batch", false}, nn::Objective::classes, 130, 132, 7, 4);
        compare_with_cpu({options, shape});
    }
}

TEST(TwinNetwork, NeighboursThatCountDifferently) {
    auto options = options_of({"sage", "none", false}, nn::Objective::classes, 20, 24, 5, 1);
    Case c(options, {});
    std::uint64_t seed = 3;
    for (sample::Block& block : c.batch.blocks) {
        const auto shares = random_floats(block.edges(), seed++);
        block.shares.assign(shares.begin(), shares.end());
    }
    compare_with_cpu(c);
}

TEST(TwinNetwork, SparseRowsAreThoseOfTheCpu) {
    for (const char* model : {"sage", "gat"}) {
        auto options = options_of({model, "none", false}, nn::Objective::classes, 90, 24, 5, 2);
        options.input_dropout = 0.3;
        Case dense(options, {});
        // Few of the columns, some rows none.
        constexpr std::size_t most = 6;
        const std::size_t stride = 1 + most;
        std::vector<float> packed(dense.batch.vertices.size() * stride * 2);
        auto* entries = reinterpret_cast<SparseEntry*>(packed.data());
        for (std::size_t v = 0; v < dense.batch.vertices.size(); ++v) {
            float* row = dense.rows.data() + v * 90;
            std::fill_n(row, 90, 0.F);
            SparseEntry* to = entries + v * stride;
            to->column = static_cast<std::uint32_t>(v % (most + 1));
            for (std::uint32_t i = 0; i < to->column; ++i) {
                const auto column = static_cast<std::uint32_t>((v % 9) + i * 13);
                to[1 + i] = {column, static_cast<float>(i + 1)};
                row[column] = static_cast<float>(i + 1);
            }
        }
        const nn::DeviceLearning plain = on_twin(dense.options);
        auto sparse_options = dense.options;
        sparse_options.sparse = nn::SparseInputs{.largest = most, .mean = 3};
        const nn::DeviceLearning sparse = on_twin(sparse_options);
        const float weight = 1.F / static_cast<float>(dense.batch.seeds);
        const Outcome wanted = train_once(*plain.network, dense, weight);
        std::vector<float> gradient(wanted.gradient.size());
        const auto got =
            sparse.network->train(dense.batch, nn::InputRows::sparse(packed, stride * 2),
                                  dense.targets(), weight, gradient, [](std::size_t) {});
        EXPECT_EQ(got.loss, wanted.result.loss);
        EXPECT_TRUE(same_bits(gradient, wanted.gradient)) << model;
    }
}

TEST(TwinNetwork, FiftyStepsStayBesideTheCpu) {
    for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
        for (const DeviceVariant& variant :
             {DeviceVariant{model, "none", false}, DeviceVariant{model, "batch", true}}) {
            auto cases = run_cases(variant, 3);
            const auto cpu = nn::make_network(cases.front().options);
            const auto adam = nn::make_optimiser({}, cpu->parameters());
            const nn::DeviceLearning device = on_twin(cases.front().options);
            const ShortRun theirs = train_steps(*cpu, *adam, cases, 50);
            const ShortRun ours = train_steps(*device.network, *device.optimiser, cases, 50);
            for (std::size_t i = 0; i < theirs.losses.size(); ++i) {
                const auto loss = static_cast<double>(theirs.losses[i]);
                const double off = std::fabs(static_cast<double>(ours.losses[i]) - loss) / loss;
                ASSERT_LT(off, i == 0 ? 1e-5 : 1e-3) << name_of(cases.front()) << " step " << i;
            }
            EXPECT_LT(ours.losses.back(), ours.losses.front());
        }
    }
}

TEST(TwinNetwork, WeightsThatWereWrittenAreTaken) {
    const auto options = options_of({"sage", "none", false}, nn::Objective::classes, 9, 8, 3, 1);
    const Case c(options, {});
    const nn::DeviceLearning device = on_twin(c.options);
    const Outcome before = train_once(*device.network, c, 1);
    for (float& weight : device.network->weights())
        weight *= 0.5F;
    device.network->weights_written();
    const Outcome after = train_once(*device.network, c, 1);
    EXPECT_NE(before.result.loss, after.result.loss);
    const auto cpu = nn::make_network(c.options);
    for (float& weight : cpu->weights())
        weight *= 0.5F;
    const Outcome wanted = train_once(*cpu, c, 1);
    EXPECT_NEAR(static_cast<double>(after.result.loss), static_cast<double>(wanted.result.loss),
                1e-5 * static_cast<double>(wanted.result.loss));
}

TEST(TwinNetwork, BatchesThatAreUploadedAheadGiveTheSame) {
    auto options = options_of({"gcn", "none", false}, nn::Objective::classes, 30, 16, 6, 4);
    std::vector<Case> cases;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        BatchShape shape;
        shape.seed = seed;
        cases.emplace_back(options, shape);
        cases.back().options.seed = 1;
    }
    const nn::DeviceLearning plain = on_twin(cases.front().options);
    const nn::DeviceLearning ahead = on_twin(cases.front().options);
    for (const Case& c : cases)
        ahead.network->stage(c.batch, c.rows);
    ahead.network->stage(cases[1].batch, cases[1].rows);  // again: the last one counts
    for (const std::size_t i : {2U, 0U, 1U, 0U}) {
        const Outcome wanted = train_once(*plain.network, cases[i], 1);
        const Outcome got = train_once(*ahead.network, cases[i], 1);
        EXPECT_TRUE(same_bits(got.gradient, wanted.gradient)) << i;
    }
}

TEST(TwinNetwork, MoreBatchesAheadThanThereArePlaces) {
    BatchShape shape;
    shape.seeds = 2;
    std::vector<Case> cases;
    for (std::uint64_t seed = 1; seed <= nn::upload_marks + 6; ++seed) {
        shape.seed = seed;
        cases.emplace_back(options_of({"sage", "none", false}, nn::Objective::classes, 5, 8, 3, 1),
                           shape);
        cases.back().batch.key.step = seed;
    }
    const nn::DeviceLearning ahead = on_twin(cases.front().options);
    const nn::DeviceLearning plain = on_twin(cases.front().options);
    for (const Case& c : cases)
        ahead.network->stage(c.batch, c.rows);
    // The last ones first: they found no place, and the others still have theirs.
    for (std::size_t i = cases.size(); i-- > 0;) {
        EXPECT_TRUE(same_bits(train_once(*ahead.network, cases[i], 1).gradient,
                              train_once(*plain.network, cases[i], 1).gradient))
            << i;
    }
    EXPECT_EQ(ahead.network->take_device_times().staged, nn::upload_marks - 1);
}

TEST(TwinNetwork, AStagedBatchWhoseMemoryHoldsAnotherIsNotTaken) {
    auto options = options_of({"sage", "none", false}, nn::Objective::classes, 30, 16, 6, 4);
    BatchShape shape;
    Case c(options, shape);
    shape.seed = 9;
    Case other(options, shape);
    other.options.seed = c.options.seed;
    const nn::DeviceLearning device = on_twin(c.options);
    device.network->stage(c.batch, c.rows);
    other.batch.key.step = c.batch.key.step + 1;
    std::swap(c.batch, other.batch);
    std::swap(c.rows, other.rows);
    std::swap(c.classes, other.classes);
    const nn::DeviceLearning fresh = on_twin(c.options);
    EXPECT_TRUE(same_bits(train_once(*device.network, c, 1).gradient,
                          train_once(*fresh.network, c, 1).gradient));
}

TEST(TwinNetwork, ABatchWithoutSeedsGivesZeroes) {
    const auto options = options_of({"sage", "none", false}, nn::Objective::classes, 9, 8, 3, 1);
    BatchShape shape;
    shape.seeds = 0;
    const Case c(options, shape);
    const nn::DeviceLearning device = on_twin(c.options);
    const Outcome outcome = train_once(*device.network, c, 1);
    EXPECT_EQ(outcome.result.answers, 0U);
    EXPECT_EQ(outcome.ready.size(), device.network->buckets().size());
    for (const float value : outcome.gradient)
        ASSERT_EQ(value, 0.F);
}

TEST(TwinNetwork, ThePlanOfADeviceIsWhatAPassTakes) {
    for (const DeviceVariant& variant : device_variants) {
        const auto options = options_of(variant, nn::Objective::classes, 40, 32, 7, 4);
        BatchShape larger;
        larger.seeds = 80;
        const Case less(options, {});
        const Case more(options, larger);
        const nn::DeviceLearning device = on_twin(less.options);
        const std::uint64_t weights = 4 * sizeof(float) * device.network->weights().size();
        const std::uint64_t rows = less.rows.size() * sizeof(float);
        EXPECT_GT(device.network->device_bytes(less.batch, 1), weights + rows);
        EXPECT_GT(device.network->device_bytes(more.batch, 1),
                  device.network->device_bytes(less.batch, 1));
        EXPECT_EQ(nn::make_network(less.options)->device_bytes(less.batch, 1), 0U);
    }
}

TEST(TwinOptimiser, GivesTheBitsOfTheCpu) {
    const auto options = options_of({"gcn", "batch", false}, nn::Objective::classes, 90, 70, 9, 1);
    for (const std::string_view name : nn::optimiser_names()) {
        for (const double decay : {0.0, 0.05}) {
            nn::OptimiserOptions how;
            how.name = name;
            how.weight_decay = decay;
            const auto cpu = nn::make_network(options);
            const auto wanted = nn::make_optimiser(how, cpu->parameters());
            const nn::DeviceLearning device = on_twin(options, how);
            const std::size_t size = cpu->weights().size();
            for (std::uint64_t step = 0; step < 4; ++step) {
                auto gradient = random_floats(size, 20 + step, 0.1F);
                auto same = gradient;
                wanted->step(cpu->weights(), gradient, 0.01);
                device.optimiser->step(device.network->weights(), same, 0.01);
                ASSERT_TRUE(same_bits(device.network->weights(), cpu->weights()))
                    << name << " step " << step;
            }
        }
    }
}

TEST(TwinOptimiser, ClipsAsTheCpu) {
    const auto options = options_of({"sage", "none", false}, nn::Objective::classes, 90, 70, 9, 1);
    nn::OptimiserOptions how;
    how.name = "sgd";
    for (const double limit : {0.5, 1e9}) {
        how.clip = limit;
        const auto cpu = nn::make_network(options);
        const auto wanted = nn::make_optimiser(how, cpu->parameters());
        const nn::DeviceLearning device = on_twin(options, how);
        auto gradient = random_floats(cpu->weights().size(), 20);
        auto same = gradient;
        wanted->step(cpu->weights(), gradient, 0.5);
        device.optimiser->step(device.network->weights(), same, 0.5);
        expect_near(device.network->weights(), cpu->weights(), 1e-6);
    }
}

TEST(TwinOptimiser, GoesOnFromTheMemoryOfTheCpuAndBack) {
    const auto options = options_of({"sage", "none", false}, nn::Objective::classes, 30, 20, 9, 1);
    for (const std::string_view name : nn::optimiser_names()) {
        nn::OptimiserOptions how;
        how.name = name;
        const auto cpu = nn::make_network(options);
        const auto on_cpu = nn::make_optimiser(how, cpu->parameters());
        const nn::DeviceLearning device = on_twin(options, how);
        const auto copy = [](nn::Network& from, nn::Optimiser& memory, nn::Network& to,
                             nn::Optimiser& other) {
            std::ranges::copy(from.weights(), to.weights().begin());
            to.weights_written();
            const auto saved = memory.memory();
            const auto restored = other.memory();
            ASSERT_EQ(saved.size(), restored.size());
            for (std::size_t i = 0; i < saved.size(); ++i) {
                EXPECT_EQ(saved[i].name, restored[i].name);
                std::ranges::copy(saved[i].values, restored[i].values.begin());
            }
            other.set_steps(memory.steps());
        };
        const auto step = [&](nn::Network& network, nn::Optimiser& optimiser, std::uint64_t seed) {
            auto gradient = random_floats(network.weights().size(), seed, 0.1F);
            optimiser.step(network.weights(), gradient, 0.01);
        };
        // Two on the CPU, two on the device, one on the CPU: as five on the CPU.
        step(*cpu, *on_cpu, 1);
        step(*cpu, *on_cpu, 2);
        copy(*cpu, *on_cpu, *device.network, *device.optimiser);
        step(*device.network, *device.optimiser, 3);
        step(*device.network, *device.optimiser, 4);
        const auto again = nn::make_network(options);
        const auto last = nn::make_optimiser(how, again->parameters());
        copy(*device.network, *device.optimiser, *again, *last);
        step(*again, *last, 5);
        for (std::uint64_t seed = 3; seed <= 5; ++seed)
            step(*cpu, *on_cpu, seed);
        EXPECT_TRUE(same_bits(again->weights(), cpu->weights())) << name;
        EXPECT_EQ(last->steps(), 5U);
    }
}

TEST(TwinRefusal, NamesWhatADeviceDoesNotKnow) {
    nn::NetworkOptions options = small(nn::Objective::classes, 4, 4, 2);
    EXPECT_EQ(nn::refusal_on_device(options), "");
    options.model = "rgcn";
    EXPECT_NE(nn::refusal_on_device(options).find("rgcn"), std::string::npos);
    options.model = "sage";
    options.types.emplace();
    EXPECT_NE(nn::refusal_on_device(options).find("types"), std::string::npos);
    options.types.reset();
    options.pairs.emplace();
    EXPECT_NE(nn::refusal_on_device(options).find("links"), std::string::npos);
    options.pairs.reset();
    options.edge_inputs = 3;
    EXPECT_NE(nn::refusal_on_device(options).find("features of edges"), std::string::npos);
}

}  // namespace rudder
