// The reference's own derivatives against central differences: what judges the networks is judged.
#include "nn/autograd.hpp"

#include <gtest/gtest.h>

#include "nn/network_case.hpp"

namespace rudder::testing {

namespace {

/// Every weight of a small network: the slope of the reference's loss, in double precision.
void check_slopes(nn::NetworkOptions options) {
    const Case c(std::move(options), {9, {3, 3}, 50, 10, 3});
    const auto network = nn::make_network(c.options);
    std::vector<float> weights(network->weights().begin(), network->weights().end());
    const auto noise = random_floats(weights.size(), 4, 0.3F);
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] += noise[i];
    const auto at = [&](const std::vector<float>& w) {
        return reference_network(c.options, network->parameters(), w, c.batch, c.rows, c.targets(),
                                 1);
    };
    const Reference whole = at(weights);
    for (const nn::Parameter& p : network->parameters()) {
        if (!p.trained) continue;
        for (std::size_t i = p.offset; i < p.offset + p.size; i += 3) {
            constexpr float step = 1.F / 4096;
            std::vector<float> moved = weights;
            moved[i] = weights[i] + step;
            const double above = at(moved).loss;
            moved[i] = weights[i] - step;
            const double below = at(moved).loss;
            const double slope = (above - below) / (2 * static_cast<double>(step));
            ASSERT_NEAR(slope, static_cast<double>(whole.gradient[i]),
                        2e-3 * largest(whole.gradient))
                << c.options.model << " " << p.name << " " << i - p.offset;
        }
    }
}

TEST(Reference, SlopesAreCentralDifferences) {
    // Smooth activations alone: a rectifier has no slope at its kink.
    for (const char* model : {"gat", "gatv2"}) {
        for (const char* norm : {"none", "layer", "batch"}) {
            nn::NetworkOptions options = small(nn::Objective::regression, 5, 6, 3);
            options.model = model;
            options.heads = 2;
            options.norm = norm;
            options.residual = true;
            options.dropout = 0.25;
            options.input_dropout = 0.1;
            check_slopes(options);
        }
    }
}

TEST(Reference, SlopesOfLossesAndOfOneLayer) {
    for (const nn::Objective objective :
         {nn::Objective::classes, nn::Objective::multilabel, nn::Objective::regression}) {
        for (const char* model : {"sage", "gcn"}) {
            nn::NetworkOptions options = small(objective, 5, 6, 3);
            options.model = model;
            if (objective == nn::Objective::classes) options.class_weights = {0.5F, 2.F, 1.F};
            const Case c(options, {9, {3}, 50, 10, 3});
            const auto network = nn::make_network(c.options);
            std::vector<float> w(network->weights().begin(), network->weights().end());
            const auto at = [&] {
                return reference_network(c.options, network->parameters(), w, c.batch, c.rows,
                                         c.targets(), 1);
            };
            const Reference whole = at();
            for (std::size_t i = 0; i < w.size(); ++i) {
                const float kept = w[i];
                constexpr float step = 1.F / 4096;
                w[i] = kept + step;
                const double above = at().loss;
                w[i] = kept - step;
                const double slope = (above - at().loss) / (2 * static_cast<double>(step));
                w[i] = kept;
                ASSERT_NEAR(slope, static_cast<double>(whole.gradient[i]),
                            2e-3 * largest(whole.gradient))
                    << model << " " << i;
            }
        }
    }
}

TEST(Reference, ProductByHand) {
    Graph g;
    const std::vector<float> a{1, 2, 3, 4};
    const std::vector<float> b{5, 6, 7, 8};
    Var x = g.input(a, 2, 2);
    Var y = g.input(b, 2, 2);
    Var z = g.product(x, y);
    EXPECT_EQ(z->value, (std::vector<double>{17, 23, 39, 53}));
    z->slope = {1, 0, 0, 2};
    g.backward();
    EXPECT_EQ(x->slope, (std::vector<double>{5, 6, 14, 16}));
    EXPECT_EQ(y->slope, (std::vector<double>{1, 2, 6, 8}));
}

}  // namespace
}  // namespace rudder::testing
