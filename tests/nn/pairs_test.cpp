// Pairs of seeds: losses by known answers, scores and gradients against sums in double precision.
#include <cmath>
#include <cstring>
#include <random>

#include "nn/network_case.hpp"
#include "nn/pair_head.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder {

using namespace testing;

namespace {

using nn::LinkLoss;
using nn::Objective;
using nn::PairScorer;

/// Weights of a scorer, and pairs of random rows.
struct PairCase {
    nn::PairOptions options;
    std::size_t outputs = 1;
    std::size_t seeds = 7;
    std::uint32_t group = 4;
    std::size_t groups = 5;
    std::uint64_t seed = 1;
    std::vector<float> rows{};
    std::vector<float> relation{};
    std::vector<float> hidden{};
    std::vector<float> hidden_bias{};
    std::vector<float> out{};
    std::vector<float> out_bias{};
    std::vector<LocalId> sources{};
    std::vector<LocalId> targets{};
    std::vector<std::uint32_t> relations{};
    std::vector<std::int32_t> classes{};

    [[nodiscard]] bool layered() const { return options.scorer == PairScorer::network; }
    [[nodiscard]] std::size_t pairs() const { return groups * group; }

    PairCase& fill() {
        const std::size_t width = options.width;
        rows = random_floats(seeds * width, seed);
        if (options.scorer == PairScorer::distmult || (layered() && options.relations > 1))
            relation = random_floats(options.relations * width, seed + 1);
        if (layered()) {
            hidden = random_floats(width * nn::pair_inputs(options), seed + 2);
            hidden_bias = random_floats(width, seed + 3);
            out = random_floats(outputs * width, seed + 4);
            out_bias = random_floats(outputs, seed + 5);
        }
        std::mt19937_64 random(seed);
        for (std::size_t i = 0; i < pairs(); ++i) {
            // A group has one source; a pair may be of one vertex twice.
            sources.push_back(i % group == 0 ? static_cast<LocalId>(random() % seeds)
                                             : sources.back());
            targets.push_back(static_cast<LocalId>(random() % seeds));
            relations.push_back(static_cast<std::uint32_t>(random() % options.relations));
            classes.push_back(static_cast<std::int32_t>(random() % (outputs + 1)) - 1);
        }
        return *this;
    }
    [[nodiscard]] nn::SeedTargets seed_targets() const {
        nn::SeedTargets all;
        all.pairs = {sources, targets, relations, group};
        all.classes = classes;
        return all;
    }
    [[nodiscard]] nn::PairWeights weights() const {
        return {relation, hidden, hidden_bias, out, out_bias};
    }

    /// What the pair scores, all sums in double precision.
    [[nodiscard]] std::vector<double> score(std::size_t pair, const std::vector<double>& at) const {
        const std::size_t width = options.width;
        const double* u = at.data() + sources[pair] * width;
        const double* v = at.data() + targets[pair] * width;
        const double* weight = at.data() + seeds * width;
        std::vector<double> product(nn::pair_inputs(options));
        for (std::size_t c = 0; c < width; ++c) {
            product[c] = u[c] * v[c];
            if (!relation.empty()) product[c] *= weight[relations[pair] * width + c];
            if (options.input == nn::PairInput::sums) product[width + c] = u[c] + v[c];
            if (options.input == nn::PairInput::rows) {
                product[width + c] = u[c];
                product[2 * width + c] = v[c];
            }
        }
        if (!layered()) {
            double sum = 0;
            for (const double p : product)
                sum += p;
            return {sum};
        }
        const double* w1 = weight + relation.size();
        const double* b1 = w1 + width * product.size();
        const double* w2 = b1 + width;
        const double* b2 = w2 + outputs * width;
        std::vector<double> scores(b2, b2 + outputs);
        for (std::size_t h = 0; h < width; ++h) {
            double sum = b1[h];
            for (std::size_t c = 0; c < product.size(); ++c)
                sum += w1[h * product.size() + c] * product[c];
            for (std::size_t o = 0; o < outputs; ++o)
                scores[o] += w2[o * width + h] * std::max(sum, 0.0);
        }
        return scores;
    }
    /// Rows and weights in one vector, and the loss there.
    [[nodiscard]] std::vector<double> everything() const {
        std::vector<double> all;
        for (const auto* part : {&rows, &relation, &hidden, &hidden_bias, &out, &out_bias})
            all.insert(all.end(), part->begin(), part->end());
        return all;
    }
    [[nodiscard]] double loss(Objective objective, const std::vector<double>& at) const {
        double sum = 0;
        if (objective == Objective::classes) {
            for (std::size_t i = 0; i < pairs(); ++i) {
                const std::vector<double> scores = score(i, at);
                double all = 0;
                for (const double s : scores)
                    all += std::exp(s);
                if (classes[i] >= 0)
                    sum += std::log(all) - scores[static_cast<std::size_t>(classes[i])];
            }
            return sum;
        }
        for (std::size_t g = 0; g < groups; ++g) {
            const double own = score(g * group, at)[0];
            double binary = std::log1p(std::exp(-own));
            double all = std::exp(own);
            double bpr = 0;
            for (std::size_t j = 1; j < group; ++j) {
                const double other = score(g * group + j, at)[0];
                binary += std::log1p(std::exp(other));
                all += std::exp(other);
                bpr += std::log1p(std::exp(other - own));
            }
            switch (options.loss) {
                case LinkLoss::binary:
                    sum += binary / group;
                    break;
                case LinkLoss::softmax:
                    sum += std::log(all) - own;
                    break;
                case LinkLoss::bpr:
                    sum += bpr / (group - 1);
                    break;
            }
        }
        return sum;
    }
};

void expect_slopes(PairCase c, Objective objective) {
    nn::PairHead head(c.options, c.outputs);
    std::vector<float> rows = c.rows;
    std::vector<std::vector<float>> back;
    for (const auto* part : {&c.relation, &c.hidden, &c.hidden_bias, &c.out, &c.out_bias})
        back.emplace_back(part->size(), std::nanf(""));
    constexpr float weight = 0.5F;
    const std::size_t width = c.options.width;
    const nn::LossSums sums = head.train(
        objective, {rows.data(), c.seeds, width, width}, c.seed_targets(), weight, c.weights(), {},
        {back[0].data(), back[1].data(), back[2].data(), back[3].data(), back[4].data()});
    const std::vector<double> at = c.everything();
    EXPECT_NEAR(sums.loss, c.loss(objective, at) * static_cast<double>(weight), 1e-4);
    for (const auto& part : back)
        rows.insert(rows.end(), part.begin(), part.end());
    ASSERT_EQ(rows.size(), at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
        constexpr double step = 1e-5;
        std::vector<double> above = at;
        std::vector<double> below = at;
        above[i] += step;
        below[i] -= step;
        const double slope = (c.loss(objective, above) - c.loss(objective, below)) / (2 * step);
        ASSERT_NEAR(static_cast<double>(rows[i]), slope * static_cast<double>(weight), 2e-5) << i;
    }
}

}  // namespace

TEST(LinkLosses, OfEqualScoresAreKnown) {
    constexpr std::uint32_t group = 5;
    const auto loss = [](LinkLoss kind) {
        std::vector<float> scores(std::size_t{2} * group, 0.25F);
        return nn::link_loss(kind, group, 0.5F, scores).loss;
    };
    // Two groups at half a weight each.
    EXPECT_NEAR(loss(LinkLoss::softmax), std::log(5.0), 1e-6);
    EXPECT_NEAR(loss(LinkLoss::bpr), std::log(2.0), 1e-6);
    EXPECT_NEAR(loss(LinkLoss::binary),
                (std::log1p(std::exp(-0.25)) + 4 * std::log1p(std::exp(0.25))) / 5, 1e-6);
}

TEST(LinkLosses, CountWhatScoresBelowTheJoinedPair) {
    std::vector<float> scores{1, 0, 1, 2, /**/ 3, 0, 1, 2};
    const nn::LossSums sums = nn::link_loss(LinkLoss::bpr, 4, 1, scores);
    EXPECT_EQ(sums.correct, 1U + 3U);
    EXPECT_EQ(sums.answers, 6U);
}

TEST(LinkLosses, ExtremeScoresStayFinite) {
    for (const LinkLoss loss : {LinkLoss::binary, LinkLoss::softmax, LinkLoss::bpr}) {
        std::vector<float> scores{-1e4F, 1e4F};
        const nn::LossSums sums = nn::link_loss(loss, 2, 1, scores);
        EXPECT_NEAR(sums.loss, loss == LinkLoss::binary ? 1e4 : 2e4, 1);
        for (const float slope : scores)
            EXPECT_TRUE(std::isfinite(slope));
    }
}

TEST(PairScores, GradientsAreTheSlopes) {
    for (const PairScorer scorer : {PairScorer::dot, PairScorer::distmult, PairScorer::network}) {
        for (const LinkLoss loss : {LinkLoss::binary, LinkLoss::softmax, LinkLoss::bpr}) {
            for (const std::uint64_t relations : {1U, 3U}) {
                SCOPED_TRACE(static_cast<int>(scorer) * 100 + static_cast<int>(loss) * 10 +
                             static_cast<int>(relations));
                PairCase c{.options = {scorer, loss, 6, relations}};
                expect_slopes(c.fill(), Objective::links);
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(PairScores, ClassesOfPairsHaveTheirSlopes) {
    for (const nn::PairInput input :
         {nn::PairInput::products, nn::PairInput::sums, nn::PairInput::rows}) {
        SCOPED_TRACE(static_cast<int>(input));
        PairCase c{.options = {PairScorer::network, LinkLoss::binary, 5, 2, input},
                   .outputs = 4,
                   .group = 1};
        c.groups = 12;
        expect_slopes(c.fill(), Objective::classes);
    }
}

TEST(PairScores, OfSumsDoNotKnowTheOrderOfAPairAndOfRowsDo) {
    for (const nn::PairInput input : {nn::PairInput::sums, nn::PairInput::rows}) {
        PairCase c{.options = {PairScorer::network, LinkLoss::binary, 9, 1, input},
                   .outputs = 3,
                   .group = 1,
                   .groups = 20};
        c.fill();
        nn::PairHead head(c.options, c.outputs);
        const auto score = [&](std::span<const LocalId> from, std::span<const LocalId> to) {
            std::vector<float> scores(c.pairs() * c.outputs);
            head.score({c.rows.data(), c.seeds, 9, 9}, {.sources = from, .targets = to},
                       c.weights(), scores);
            return scores;
        };
        const bool equal = score(c.sources, c.targets) == score(c.targets, c.sources);
        EXPECT_EQ(equal, input == nn::PairInput::sums);
    }
}

TEST(PairScores, AreTheSameOnAnyThreads) {
    PairCase c{.options = {PairScorer::network, LinkLoss::softmax, 33, 3},
               .seeds = 300,
               .group = 7,
               .groups = 400};
    c.fill();
    const auto train = [&](int threads) {
        set_thread_count(threads);
        nn::PairHead head(c.options, c.outputs);
        std::vector<float> rows = c.rows;
        std::vector<float> back(c.relation.size() + c.hidden.size() + c.hidden_bias.size() +
                                c.out.size() + c.out_bias.size());
        float* at = back.data();
        const auto take = [&](const std::vector<float>& part) {
            return std::exchange(at, at + part.size());
        };
        const nn::PairGradients gradients{take(c.relation), take(c.hidden), take(c.hidden_bias),
                                          take(c.out), take(c.out_bias)};
        head.train(Objective::links, {rows.data(), c.seeds, 33, 33}, c.seed_targets(), 1,
                   c.weights(), {}, gradients);
        set_thread_count(0);
        rows.insert(rows.end(), back.begin(), back.end());
        return rows;
    };
    const auto one = train(1);
    const auto many = train(3);
    EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(float)), 0);
}

TEST(PairNetworks, LearnWhichPairsAreJoined) {
    // Every model and scorer: the gradient leads downhill by as much as it says.
    for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
        for (const PairScorer scorer :
             {PairScorer::dot, PairScorer::distmult, PairScorer::network}) {
            SCOPED_TRACE(model);
            nn::NetworkOptions options = small(Objective::links, 6, 8, 1);
            options.model = model;
            options.dropout = 0;
            options.pairs = {scorer, LinkLoss::softmax, 12, 2};
            Case c(options, {30, {3, 4}, 50, 10, 3});
            std::vector<LocalId> sources;
            std::vector<LocalId> targets;
            std::vector<std::uint32_t> relations;
            for (LocalId i = 0; i < 40; ++i) {
                sources.push_back(i / 4);
                targets.push_back((i * 7 + 3) % 30);
                relations.push_back(i % 2);
            }
            nn::SeedTargets of;
            of.pairs = {sources, targets, relations, 4};
            const auto network = nn::make_network(c.options);
            std::vector<float> gradient(network->weights().size(), std::nanf(""));
            std::vector<std::size_t> ready;
            const auto loss = [&] {
                return static_cast<double>(network
                                               ->train(c.batch, c.rows, of, 0.1F, gradient,
                                                       [&](std::size_t b) { ready.push_back(b); })
                                               .loss);
            };
            const double before = loss();
            ASSERT_EQ(ready.size(), network->buckets().size());
            for (std::size_t b = 0; b < ready.size(); ++b)
                EXPECT_EQ(ready[b], b);
            double square = 0;
            for (const float g : gradient)
                square += static_cast<double>(g) * static_cast<double>(g);
            ASSERT_GT(square, 1e-6);
            const auto step = static_cast<float>(1e-3 / std::sqrt(square));
            const std::vector<float> slope = gradient;
            for (std::size_t i = 0; i < slope.size(); ++i)
                network->weights()[i] -= step * slope[i];
            EXPECT_NEAR((before - loss()) / (static_cast<double>(step) * square), 1, 0.1);
            // What pairs score is what the rows that are predicted score.
            std::vector<float> rows(c.batch.seeds * options.pairs->width);
            network->predict(c.batch, c.rows, rows);
            std::vector<float> scores(sources.size());
            network->score_pairs({rows.data(), c.batch.seeds, 12, 12}, of.pairs, scores);
            double sum = 0;
            for (std::size_t g = 0; g < 10; ++g) {
                double all = 0;
                for (std::size_t j = 0; j < 4; ++j)
                    all += std::exp(static_cast<double>(scores[4 * g + j]));
                sum += std::log(all) - static_cast<double>(scores[4 * g]);
            }
            EXPECT_NEAR(sum * 0.1, loss(), 1e-4);
        }
    }
}

TEST(PairNetworks, StatisticsCountTheLinksOfABatchNotItsVertices) {
    nn::NetworkOptions options = small(Objective::links, 6, 8, 1);
    options.dropout = 0;
    options.norm = "batch";
    options.pairs = {PairScorer::dot, LinkLoss::binary, 12, 1};
    Case c(options, {30, {3, 4}, 50, 10, 3});
    const auto network = nn::make_network(c.options);
    // Shares of a step's links add up to one, whatever the number of vertices they have.
    const auto mean_of = [&](std::size_t links) {
        const std::vector<LocalId> sources(2 * links, 1);
        std::vector<LocalId> targets;
        for (std::size_t i = 0; i < 2 * links; ++i)
            targets.push_back(static_cast<LocalId>(i % 30));
        nn::SeedTargets of;
        of.pairs = {.sources = sources, .targets = targets, .group = 2};
        std::vector<float> gradient(network->weights().size());
        network->train(c.batch, c.rows, of, 0.1F, gradient, [](std::size_t) {});
        for (const nn::Parameter& p : network->parameters()) {
            if (p.name == "layers.0.norm.running_var") return gradient[p.offset];
        }
        return 0.F;
    };
    EXPECT_GT(mean_of(10), 0.F);
    EXPECT_FLOAT_EQ(mean_of(5), mean_of(10) / 2);
    EXPECT_FLOAT_EQ(mean_of(20), mean_of(10) * 2);
}

}  // namespace rudder
