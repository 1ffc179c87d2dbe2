// Losses: gradients by central differences, extreme scores, parts of targets; what is refused.
#include "rudder/nn/loss.hpp"

#include <cmath>
#include <limits>

#include "nn/network_case.hpp"
#include "rudder/core/error.hpp"
#include "rudder/nn/flat_network.hpp"
#include "rudder/nn/model_registry.hpp"

namespace rudder {

using namespace testing;

TEST(Loss, GradientIsTheSlope) {
    constexpr std::size_t rows = 4;
    constexpr std::size_t columns = 3;
    const std::vector<std::int32_t> classes{2, 0, -1, 1};
    const std::vector<std::uint8_t> labels{1, 0, 1, 0, 0, 0, 255, 255, 255, 1, 1, 1};
    const auto numbers = random_floats(rows * columns, 3);
    const std::vector<float> class_weights{0.5F, 2, 1};
    const auto scores = random_floats(rows * columns, 1, 2);
    for (const nn::Objective objective :
         {nn::Objective::classes, nn::Objective::multilabel, nn::Objective::regression}) {
        nn::SeedTargets targets;
        if (objective == nn::Objective::classes) targets.classes = classes;
        if (objective == nn::Objective::multilabel) targets.multilabel = labels;
        if (objective == nn::Objective::regression) targets.regression = numbers;
        const auto loss = [&](std::vector<float>& at) {
            return nn::loss_and_gradient(
                       objective, targets, 0.5F, {at.data(), rows, columns, columns},
                       objective == nn::Objective::classes ? std::span<const float>(class_weights)
                                                           : std::span<const float>())
                .loss;
        };
        std::vector<float> gradient = scores;
        loss(gradient);
        for (std::size_t i = 0; i < scores.size(); ++i) {
            constexpr float step = 1.F / 64;
            std::vector<float> above = scores;
            std::vector<float> below = scores;
            above[i] += step;
            below[i] -= step;
            EXPECT_NEAR((loss(above) - loss(below)) / (2 * static_cast<double>(step)),
                        static_cast<double>(gradient[i]), 1e-3)
                << i;
        }
    }
}

TEST(Loss, ExtremeScoresStayFinite) {
    std::vector<float> scores{1e4F, -1e4F, 0};
    const std::vector<std::int32_t> wrong{1};
    nn::SeedTargets targets;
    targets.classes = wrong;
    const nn::LossSums sums =
        nn::loss_and_gradient(nn::Objective::classes, targets, 1, {scores.data(), 1, 3, 3});
    EXPECT_NEAR(sums.loss, 2e4, 1);
    EXPECT_EQ(scores, (std::vector<float>{1, -1, 0}));
    std::vector<float> pair{200, -200};
    const std::vector<std::uint8_t> labels{0, 1};
    targets = {};
    targets.multilabel = labels;
    EXPECT_NEAR(
        nn::loss_and_gradient(nn::Objective::multilabel, targets, 1, {pair.data(), 1, 2, 2}).loss,
        200, 1e-3);
    EXPECT_EQ(pair, (std::vector<float>{0.5F, -0.5F}));
}

TEST(Loss, PartsOfTargets) {
    const std::vector<std::int32_t> classes{5, 6, 7, 8};
    const std::vector<std::uint8_t> labels{1, 0, 0, 1, 1, 1, 0, 0};
    nn::SeedTargets targets;
    targets.classes = classes;
    targets.multilabel = labels;
    const nn::SeedTargets part = nn::targets_of(targets, 2, 1, 2);
    EXPECT_TRUE(std::ranges::equal(part.classes, std::vector<std::int32_t>{6, 7}));
    EXPECT_TRUE(std::ranges::equal(part.multilabel, std::vector<std::uint8_t>{0, 1, 1, 1}));
    EXPECT_TRUE(part.regression.empty());
}

TEST(Network, NamesWhatIsInvalid) {
    const auto problem = [](auto change) {
        nn::NetworkOptions options = small(nn::Objective::classes, 3, 8, 2);
        options.layers = 2;
        change(options);
        try {
            static_cast<void>(nn::make_network(options));
            return std::string();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_FALSE(error.remedy().empty());
            return error.problem();
        }
    };
    EXPECT_EQ(problem([](nn::NetworkOptions&) {}), "");
    EXPECT_EQ(problem([](nn::NetworkOptions& o) { o.layers = 0; }), "invalid number of layers: 0");
    EXPECT_EQ(problem([](nn::NetworkOptions& o) { o.hidden = 0; }), "invalid hidden size: 0");
    EXPECT_EQ(problem([](nn::NetworkOptions& o) { o.inputs = 0; }), "the data set has no features");
    EXPECT_EQ(problem([](nn::NetworkOptions& o) { o.outputs = 0; }),
              "nothing to learn: the data set has neither classes nor targets");
    EXPECT_EQ(problem([](nn::NetworkOptions& o) { o.dropout = 1; }), "invalid dropout rate: 1");
    EXPECT_EQ(problem([](nn::NetworkOptions& o) { o.input_dropout = -0.5; }),
              "invalid dropout rate: -0.5");
    EXPECT_NE(problem([](nn::NetworkOptions& o) { o.dropout = std::nan(""); }), "");
    EXPECT_EQ(problem([](nn::NetworkOptions& o) {
                  o.model = "gat";
                  o.heads = 0;
              }),
              "invalid number of heads: 0");
    EXPECT_EQ(problem([](nn::NetworkOptions& o) {
                  o.model = "gatv2";
                  o.heads = 3;
              }),
              "invalid hidden size: 8 columns for 3 heads");
    EXPECT_EQ(problem([](nn::NetworkOptions& o) {
                  o.class_weights = {1, -1};
              }),
              "invalid class weights: they do not fit the classes");
}

TEST(Network, OwnModelsAreMadeByName) {
    nn::register_model({"own-sage", nn::make_sage, true});
    nn::NetworkOptions options = small(nn::Objective::classes, 3, 8, 2);
    options.model = "own-sage";
    options.layers = 1;
    EXPECT_EQ(nn::make_network(options)->layers(), 1U);
    EXPECT_TRUE(nn::model_wants_degrees("own-sage"));
    EXPECT_FALSE(nn::model_wants_degrees("sage"));
    EXPECT_EQ(nn::model_names().back(), "own-sage");
    EXPECT_THROW(nn::register_model({"own-sage", nn::make_sage}), InternalError);
}

}  // namespace rudder
