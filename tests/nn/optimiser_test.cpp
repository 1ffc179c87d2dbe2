// Optimisers against the reference, and the schedules of the learning rate.
#include <cmath>

#include <gtest/gtest.h>

#include "nn/random_batch.hpp"
#include "nn/reference.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder {

namespace {

std::vector<nn::Parameter> some_parameters() {
    return {{"weight", {300, 70}, 0, 21000, true}, {"bias", {70}, 21000, 70, false}};
}

std::vector<float> optimise(const nn::OptimiserOptions& options, std::vector<float> weights,
                            std::vector<std::vector<float>> gradients, double rate) {
    const auto parameters = some_parameters();
    const auto optimiser = nn::make_optimiser(options, parameters);
    for (auto& gradient : gradients)
        optimiser->step(weights, gradient, rate);
    EXPECT_EQ(optimiser->steps(), gradients.size());
    return weights;
}

}  // namespace

TEST(Optimiser, AgreesWithTheReference) {
    const auto weights = testing::random_floats(21070, 1);
    std::vector<std::vector<float>> gradients;
    for (std::uint64_t i = 0; i < 12; ++i)
        gradients.push_back(testing::random_floats(21070, 10 + i, 0.1F));
    for (const std::string_view name : nn::optimiser_names()) {
        for (const double decay : {0.0, 0.05}) {
            for (const double clip : {0.0, 0.5}) {
                nn::OptimiserOptions options;
                options.name = name;
                options.weight_decay = decay;
                options.clip = clip;
                const auto ours = optimise(options, weights, gradients, 0.003);
                const auto theirs = testing::reference_optimise(options, some_parameters(), weights,
                                                                gradients, 0.003);
                for (std::size_t i = 0; i < ours.size(); ++i)
                    ASSERT_NEAR(static_cast<double>(ours[i]), static_cast<double>(theirs[i]), 1e-6)
                        << name << " " << decay << " " << clip << " " << i;
            }
        }
    }
}

TEST(Optimiser, GoesOnFromItsMemory) {
    for (const std::string_view name : nn::optimiser_names()) {
        nn::OptimiserOptions options;
        options.name = name;
        const auto parameters = some_parameters();
        auto whole = testing::random_floats(21070, 1);
        auto cut = whole;
        const auto straight = nn::make_optimiser(options, parameters);
        const auto first = nn::make_optimiser(options, parameters);
        const auto second = nn::make_optimiser(options, parameters);
        for (std::uint64_t i = 0; i < 6; ++i) {
            auto gradient = testing::random_floats(21070, 10 + i);
            straight->step(whole, gradient, 0.01);
            (i < 3 ? *first : *second).step(cut, gradient, 0.01);
            if (i != 2) continue;
            for (std::size_t m = 0; m < first->memory().size(); ++m)
                std::ranges::copy(first->memory()[m].values, second->memory()[m].values.begin());
            second->set_steps(first->steps());
        }
        EXPECT_EQ(whole, cut) << name;
    }
}

TEST(Optimiser, SameBitsOnAnyThreads) {
    nn::OptimiserOptions options;
    options.clip = 0.1;
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 4}) {
        set_thread_count(threads);
        results.push_back(optimise(options, testing::random_floats(21070, 1),
                                   {testing::random_floats(21070, 2)}, 0.01));
    }
    set_thread_count(0);
    EXPECT_EQ(results[0], results[1]);
    EXPECT_EQ(results[0], results[2]);
}

TEST(Optimiser, UnknownNameListsTheKnown) {
    nn::OptimiserOptions options;
    options.name = "adagrad";
    const auto parameters = some_parameters();
    try {
        static_cast<void>(nn::make_optimiser(options, parameters));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_NE(error.remedy().find("adamw"), std::string::npos);
    }
}

TEST(LearningRateSchedule, KnownAnswers) {
    EXPECT_EQ(nn::LearningRateSchedule("constant").factor(50, 100, 10), 1.0);
    EXPECT_EQ(nn::LearningRateSchedule("linear").factor(25, 100, 10), 0.75);
    EXPECT_EQ(nn::LearningRateSchedule("linear").factor(0, 100, 10), 1.0);
    EXPECT_NEAR(nn::LearningRateSchedule("cosine").factor(50, 100, 10), 0.5, 1e-12);
    EXPECT_NEAR(nn::LearningRateSchedule("cosine").factor(100, 100, 10), 0.0, 1e-12);
    EXPECT_EQ(nn::LearningRateSchedule("step:2,0.5").factor(19, 100, 10), 1.0);
    EXPECT_EQ(nn::LearningRateSchedule("step:2,0.5").factor(20, 100, 10), 0.5);
    EXPECT_EQ(nn::LearningRateSchedule("step:2,0.5").factor(45, 100, 10), 0.25);
    const nn::LearningRateSchedule warm("linear", 4);
    EXPECT_EQ(warm.factor(0, 104, 10), 0.2);
    EXPECT_EQ(warm.factor(3, 104, 10), 0.8);
    EXPECT_EQ(warm.factor(4, 104, 10), 1.0);
    EXPECT_EQ(warm.factor(54, 104, 10), 0.5);
}

TEST(LearningRateSchedule, RefusesWhatItDoesNotKnow) {
    for (const char* text : {"", "cosin", "step", "step:", "step:0,1", "step:3", "step:a,b"})
        EXPECT_THROW(nn::LearningRateSchedule{text}, Error) << text;
}

}  // namespace rudder
