// Networks over graphs of several types, against their definition in doubles: scores, gradients by
// differences, layer by layer, the same bits for any number of threads.
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "nn/definition.hpp"
#include "nn/network_case.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::testing {
namespace {

/// a, b, c of widths 5, 3, 1; edges a->a, a->a, b->a, a->b, c->b.
nn::TypedInputs some_types() {
    return {{{"a", 5}, {"b", 3}, {"c", 1}},
            {{"aa", 0, 0}, {"aa2", 0, 0}, {"ba", 1, 0}, {"ab", 0, 1}, {"cb", 2, 1}}};
}

/// Gives the vertices of a batch types, and its edges some that join them; edges that no type
/// joins leave.
void give_types(sample::Batch& batch, const nn::TypedInputs& types, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> of(batch.vertices.size());
    for (std::uint8_t& type : of)
        type = static_cast<std::uint8_t>(random() % types.vertices.size());
    for (sample::Block& block : batch.blocks) {
        const auto old = block;
        block.destination_types.assign(of.begin(), of.begin() + block.destinations);
        block.neighbours.clear();
        block.offsets.assign(1, 0);
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            for (std::uint32_t e = old.offsets[d]; e < old.offsets[d + 1]; ++e) {
                const LocalId u = old.neighbours[e];
                std::vector<std::uint8_t> fit;
                for (std::size_t t = 0; t < types.edges.size(); ++t) {
                    if (types.edges[t].from == of[u] && types.edges[t].to == of[d])
                        fit.push_back(static_cast<std::uint8_t>(t));
                }
                if (fit.empty()) continue;
                block.neighbours.push_back(u);
                block.types.push_back(fit[random() % fit.size()]);
            }
            block.offsets.push_back(block.edges());
        }
    }
}

void give_shares(sample::Batch& batch, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> draw(0.1F, 1.F);
    for (sample::Block& block : batch.blocks) {
        block.shares.resize(block.edges());
        for (float& share : block.shares)
            share = draw(random);
    }
}

/// The definition. Columns beyond a type's width hold what nobody may read.
class SlowTypes final : public Definition {
public:
    SlowTypes(const Case& c, const nn::Network& network)
        : Definition(c, network), types_(*c.options.types) {}

private:
    [[nodiscard]] Doubles layer(const Layer& here) const override {
        const auto& [weights, l, input, in, out, last] = here;
        return given().options.model == "gat" ? attention_layer(weights, l, input, in, out, last)
                                              : mean_layer(weights, l, input, in, out, last);
    }

    /// Element (o, i) of what own rows of a type, or neighbours along a type of edges, are
    /// multiplied by.
    [[nodiscard]] double own(const Doubles& w, std::size_t l, std::size_t type, std::size_t o,
                             std::size_t i, std::size_t in) const {
        if (given().options.model == "rgcn")
            return at(w, fmt::format("layers.{}.root.weight", l), o * in + i);
        const std::size_t width = l == 0 ? types_.vertices[type].width : in;
        return at(w, fmt::format("layers.{}.self.{}.weight", l, types_.vertices[type].name),
                  o * width + i);
    }
    [[nodiscard]] double along(const Doubles& w, std::size_t l, std::size_t type, std::size_t o,
                               std::size_t i, std::size_t in) const {
        if (given().options.model == "rgcn") {
            const std::size_t bases =
                std::min<std::size_t>(given().options.bases, types_.edges.size());
            double sum = 0;
            for (std::size_t b = 0; b < bases; ++b) {
                sum += at(w, fmt::format("layers.{}.mixture", l), type * bases + b) *
                       at(w, fmt::format("layers.{}.bases.{}.weight", l, b), o * in + i);
            }
            return sum;
        }
        const std::size_t width = l == 0 ? types_.vertices[types_.edges[type].from].width : in;
        return at(w, fmt::format("layers.{}.edges.{}.weight", l, types_.edges[type].name),
                  o * width + i);
    }

    /// What destination d of layer l attends to along one type of edges, added to `result`.
    void attend(const Doubles& w, std::size_t l, std::size_t type, std::size_t d,
                const Doubles& input, std::size_t in, bool last, double* result) const {
        const sample::Block& block = given().batch.blocks[l];
        const std::size_t heads = given().options.heads;
        const std::size_t columns = last ? given().options.outputs : given().options.hidden / heads;
        const std::string name = fmt::format("layers.{}.edges.{}", l, types_.edges[type].name);
        const auto mapped = [&](const char* map, std::size_t vertex, std::size_t of,
                                std::size_t hc) {
            const std::size_t width = l == 0 ? types_.vertices[of].width : in;
            double sum = 0;
            for (std::size_t i = 0; i < width; ++i)
                sum += at(w, name + map, hc * width + i) * input[vertex * in + i];
            return sum;
        };
        for (std::size_t h = 0; h < heads; ++h) {
            double own = 0;
            for (std::size_t c = h * columns; c < (h + 1) * columns; ++c)
                own += at(w, name + ".att_dst", c) *
                       mapped(".dst.weight", d, types_.edges[type].to, c);
            Doubles weights;
            std::vector<std::size_t> sources;
            double norm = 0;
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
                if (block.types[e] != type) continue;
                double score = own;
                for (std::size_t c = h * columns; c < (h + 1) * columns; ++c)
                    score += at(w, name + ".att_src", c) *
                             mapped(".weight", block.neighbours[e], types_.edges[type].from, c);
                weights.push_back(std::exp(score > 0 ? score : 0.2 * score));
                norm += weights.back();
                sources.push_back(block.neighbours[e]);
            }
            for (std::size_t i = 0; i < sources.size(); ++i) {
                for (std::size_t c = 0; c < columns; ++c) {
                    const double value =
                        mapped(".weight", sources[i], types_.edges[type].from, h * columns + c);
                    result[last ? c : h * columns + c] +=
                        weights[i] / norm * value / (last ? static_cast<double>(heads) : 1);
                }
            }
        }
    }
    [[nodiscard]] Doubles attention_layer(const Doubles& w, std::size_t l, const Doubles& input,
                                          std::size_t in, std::size_t out, bool last) const {
        const sample::Block& block = given().batch.blocks[l];
        Doubles result(block.destinations * out, 0);
        for (std::size_t d = 0; d < block.destinations; ++d) {
            const std::size_t type = block.destination_types[d];
            const std::size_t width = l == 0 ? types_.vertices[type].width : in;
            double* const row = result.data() + d * out;
            for (std::size_t o = 0; o < out; ++o) {
                row[o] = at(w, fmt::format("layers.{}.bias", l), o);
                for (std::size_t i = 0; i < width; ++i)
                    row[o] += own(w, l, type, o, i, in) * input[d * in + i];
            }
            for (std::size_t e = 0; e < types_.edges.size(); ++e)
                if (types_.edges[e].to == type) attend(w, l, e, d, input, in, last, row);
            for (std::size_t o = 0; o < out && !last; ++o)
                row[o] = row[o] > 0 ? row[o] : std::expm1(row[o]);
        }
        return result;
    }

    [[nodiscard]] Doubles mean_layer(const Doubles& w, std::size_t l, const Doubles& input,
                                     std::size_t in, std::size_t out, bool last) const {
        const sample::Block& block = given().batch.blocks[l];
        Doubles result(block.destinations * out, 0);
        const auto width = [&](std::size_t type) {
            return l == 0 ? types_.vertices[type].width : in;
        };
        for (std::size_t d = 0; d < block.destinations; ++d) {
            std::vector<double> counts(types_.edges.size(), 0);
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
                counts[block.types[e]] += 1;
            for (std::size_t o = 0; o < out; ++o) {
                double sum = at(w, fmt::format("layers.{}.bias", l), o);
                const std::size_t type = block.destination_types[d];
                for (std::size_t i = 0; i < width(type); ++i)
                    sum += own(w, l, type, o, i, in) * input[d * in + i];
                for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
                    const std::size_t t = block.types[e];
                    const double share =
                        block.shares.empty() ? 1 / counts[t] : static_cast<double>(block.shares[e]);
                    for (std::size_t i = 0; i < width(types_.edges[t].from); ++i) {
                        sum +=
                            share * along(w, l, t, o, i, in) * input[block.neighbours[e] * in + i];
                    }
                }
                result[d * out + o] = last ? sum : std::max(0., sum);
            }
        }
        return result;
    }

    const nn::TypedInputs& types_;
};

Case typed_case(const std::string& model, std::uint64_t seed, bool shares,
                std::uint32_t seeds = 24) {
    nn::NetworkOptions options = small(nn::Objective::classes, 5, 6, 4);
    options.model = model;
    options.dropout = 0;
    options.types = some_types();
    options.bases = 2;
    options.heads = 2;
    Case c(options, {.seeds = seeds, .fanouts = {4, 6}, .seed = seed});
    c.batch.degrees.clear();
    give_types(c.batch, *c.options.types, seed);
    if (shares) give_shares(c.batch, seed);
    for (std::int32_t& label : c.classes)
        label = std::max(label, 0);
    return c;
}

class TypedNetworks : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, TypedNetworks, ::testing::Values("sage", "rgcn", "gat"),
                         [](const auto& model) { return std::string(model.param); });

TEST_P(TypedNetworks, ScoresAreTheDefinitions) {
    for (const bool shares : {false, true}) {
        if (shares && !may_be_weighted(GetParam())) continue;
        const Case c = typed_case(GetParam(), 3, shares);
        const auto network = nn::make_network(c.options);
        expect_defined_scores(*network, c, SlowTypes(c, *network), 1e-5);
    }
}

TEST_P(TypedNetworks, GradientsAreThoseOfDifferences) {
    for (const bool shares : {false, true}) {
        if (shares && !may_be_weighted(GetParam())) continue;
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            // Attention has many more weights, so fewer vertices.
            const bool attends = std::string(GetParam()) == "gat";
            if (attends && seed > 1) continue;
            const Case c = typed_case(GetParam(), seed, shares, attends ? 8 : 24);
            const auto network = nn::make_network(c.options);
            expect_defined_gradient(*network, c, SlowTypes(c, *network));
        }
    }
}

/// Columns beyond a type's width are read by nobody: their gradient is 0.
TEST_P(TypedNetworks, GradientsOfRowsAreThoseOfDifferences) {
    for (const bool shares : {false, true}) {
        Case c = typed_case(GetParam(), 2, shares);
        c.options.row_gradients = true;
        const auto network = nn::make_network(c.options);
        expect_defined_row_gradients(*network, c, SlowTypes(c, *network));
    }
}

/// Many chunks and lanes, so that sums are divided.
TEST_P(TypedNetworks, TheSameBitsForAnyNumberOfThreads) {
    const auto run = [&] {
        Case c = typed_case(GetParam(), 5, false, 1500);
        c.options.dropout = 0.5;
        const auto network = nn::make_network(c.options);
        return train_once(*network, c, 0.001F);
    };
    set_thread_count(1);
    const Outcome one = run();
    set_thread_count(3);
    const Outcome three = run();
    set_thread_count(0);
    EXPECT_EQ(one.gradient, three.gradient);
    EXPECT_EQ(one.result.loss, three.result.loss);
}

TEST_P(TypedNetworks, LayerByLayerIsTheSame) {
    const Case c = typed_case(GetParam(), 7, false, 400);
    const auto network = nn::make_network(c.options);
    expect_same_layer_by_layer(*network, c);
}

/// With one type of each, GraphSAGE by type is GraphSAGE.
TEST(TypedSage, OfOneTypeIsPlainSage) {
    nn::NetworkOptions options = small(nn::Objective::classes, 5, 6, 4);
    options.dropout = 0;
    Case c(options, {.seeds = 50, .fanouts = {4, 6}, .seed = 4});
    const auto plain = nn::make_network(c.options);
    const Outcome expected = train_once(*plain, c, 0.1F);
    c.options.types = nn::TypedInputs{{{"v", 5}}, {{"e", 0, 0}}};
    for (sample::Block& block : c.batch.blocks) {
        block.types.assign(block.edges(), 0);
        block.destination_types.assign(block.destinations, 0);
    }
    const auto typed = nn::make_network(c.options);
    ASSERT_EQ(typed->weights().size(), plain->weights().size());
    std::ranges::copy(plain->weights(), typed->weights().begin());
    const Outcome outcome = train_once(*typed, c, 0.1F);
    EXPECT_NEAR(outcome.result.loss, expected.result.loss, 1e-4);
    expect_near(outcome.gradient, expected.gradient, 1e-5);
}

TEST(TypedModels, ThoseThatKnowTypes) {
    EXPECT_TRUE(nn::model_knows_types("sage"));
    EXPECT_TRUE(nn::model_knows_types("rgcn"));
    EXPECT_TRUE(nn::model_knows_types("gat"));
    EXPECT_FALSE(nn::model_knows_types("gcn"));
    EXPECT_FALSE(nn::model_knows_one_type("rgcn"));
    nn::NetworkOptions options = small(nn::Objective::classes, 5, 6, 4);
    options.model = "rgcn";
    EXPECT_THROW(static_cast<void>(nn::make_network(options)), Error);
}

}  // namespace
}  // namespace rudder::testing
