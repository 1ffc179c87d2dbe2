// The model against a slow forward pass in double precision, and bit for bit against itself.
#include "steer/llm/local/transformer.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "steer/llm/local/exact_math.hpp"

#include "random_model.hpp"

namespace rudder::test {
namespace {

using steer::KernelPath;
using steer::TokenId;
using Row = std::vector<double>;

Row slow_product(const std::vector<float>& matrix, const Row& x) {
    Row y(matrix.size() / x.size(), 0);
    for (std::size_t o = 0; o < y.size(); ++o)
        for (std::size_t i = 0; i < x.size(); ++i)
            y[o] += static_cast<double>(matrix[o * x.size() + i]) * x[i];
    return y;
}

Row slow_norm(const Row& x, const std::vector<float>& weights, double epsilon) {
    double squares = 0;
    for (const double value : x)
        squares += value * value;
    Row y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        y[i] = x[i] * static_cast<double>(weights[i]) /
               std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
    }
    return y;
}

void slow_rotate(Row& x, std::size_t head, std::size_t position, double base) {
    for (std::size_t at = 0; at < x.size(); at += 2) {
        const double pair = static_cast<double>(at % head);
        const double angle =
            static_cast<double>(position) * std::pow(base, -pair / static_cast<double>(head));
        const double a = x[at];
        const double b = x[at + 1];
        x[at] = a * std::cos(angle) - b * std::sin(angle);
        x[at + 1] = a * std::sin(angle) + b * std::cos(angle);
    }
}

/// What each head of each token takes from the tokens up to it.
Row slow_attention(const steer::ModelShape& shape, const Row& query, const std::vector<Row>& keys,
                   const std::vector<Row>& values) {
    const std::size_t d = shape.head();
    Row mixed(shape.width, 0);
    for (std::size_t h = 0; h < shape.heads; ++h) {
        const std::size_t kv = h * shape.kv_heads / shape.heads;
        Row scores;
        double most = -std::numeric_limits<double>::infinity();
        for (const Row& key : keys) {
            double score = 0;
            for (std::size_t i = 0; i < d; ++i)
                score += query[h * d + i] * key[kv * d + i];
            scores.push_back(score / std::sqrt(static_cast<double>(d)));
            most = std::max(most, scores.back());
        }
        double sum = 0;
        for (double& score : scores)
            sum += score = std::exp(score - most);
        for (std::size_t p = 0; p < scores.size(); ++p)
            for (std::size_t i = 0; i < d; ++i)
                mixed[h * d + i] += scores[p] / sum * values[p][kv * d + i];
    }
    return mixed;
}

/// Logits behind the last token; everything anew.
Row slow_logits(const steer::SteeringModel& model, std::span<const TokenId> tokens) {
    const steer::ModelShape& shape = model.shape;
    std::vector<Row> x;
    for (const TokenId token : tokens) {
        const auto row = std::span(model.embedding).subspan(token * shape.width, shape.width);
        x.emplace_back(row.begin(), row.end());
    }
    const auto add = [](Row& to, const Row& what) {
        for (std::size_t i = 0; i < to.size(); ++i)
            to[i] += what[i];
    };
    for (const steer::LayerWeights& w : model.layers) {
        std::vector<Row> keys;
        std::vector<Row> values;
        for (std::size_t t = 0; t < x.size(); ++t) {
            const Row n = slow_norm(x[t], w.attn_norm, shape.norm_eps);
            Row query = slow_product(w.query, n);
            keys.push_back(slow_product(w.key, n));
            values.push_back(slow_product(w.value, n));
            slow_rotate(query, shape.head(), t, shape.rope_base);
            slow_rotate(keys.back(), shape.head(), t, shape.rope_base);
            add(x[t], slow_product(w.attn_output, slow_attention(shape, query, keys, values)));
        }
        for (Row& row : x) {
            const Row n = slow_norm(row, w.ffn_norm, shape.norm_eps);
            Row gate = slow_product(w.gate, n);
            const Row up = slow_product(w.up, n);
            for (std::size_t i = 0; i < gate.size(); ++i)
                gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
            add(row, slow_product(w.down, gate));
        }
    }
    return slow_product(model.embedding, slow_norm(x.back(), model.output_norm, shape.norm_eps));
}

const std::vector<steer::ModelShape> shapes{{.layers = 2,
                                             .width = 32,
                                             .heads = 4,
                                             .kv_heads = 2,
                                             .hidden = 48,
                                             .context = 160,
                                             .rope_base = 10000,
                                             .norm_eps = 1e-5},
                                            {.layers = 1,
                                             .width = 6,
                                             .heads = 1,
                                             .kv_heads = 1,
                                             .hidden = 5,
                                             .context = 33,
                                             .rope_base = 500,
                                             .norm_eps = 1e-6},
                                            {.layers = 3,
                                             .width = 72,
                                             .heads = 6,
                                             .kv_heads = 1,
                                             .hidden = 100,
                                             .context = 200,
                                             .rope_base = 10000,
                                             .norm_eps = 1e-5},
                                            {.layers = 2,
                                             .width = 128,
                                             .heads = 4,
                                             .kv_heads = 4,
                                             .hidden = 352,
                                             .context = 256,
                                             .rope_base = 10000,
                                             .norm_eps = 1e-5}};

std::vector<TokenId> random_tokens(std::size_t count, std::size_t vocabulary, std::uint64_t seed) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 1);
    std::vector<TokenId> tokens(count);
    for (TokenId& token : tokens)
        token = static_cast<TokenId>(draws.below(vocabulary));
    return tokens;
}

std::vector<float> all_logits(const steer::Reading& reading, std::size_t vocabulary) {
    std::vector<TokenId> all(vocabulary);
    std::iota(all.begin(), all.end(), 0);
    std::vector<float> logits(vocabulary);
    reading.logits(all, logits);
    return logits;
}

constexpr auto go_on = [] { return true; };

/// Logits behind each piece of the tokens, read in blocks of that size.
std::vector<float> read_in_pieces(const steer::Transformer& transformer,
                                  std::span<const TokenId> tokens, std::size_t piece,
                                  std::size_t block) {
    steer::Reading reading(transformer, block);
    for (std::size_t at = 0; at < tokens.size(); at += piece)
        EXPECT_TRUE(reading.read(tokens.subspan(at, std::min(piece, tokens.size() - at)), go_on));
    return all_logits(reading, transformer.shape().vocabulary);
}

bool same_floats(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(ModelTransformer, LogitsAreThoseOfTheSlowPass) {
    std::uint64_t seed = 0;
    for (const steer::ModelShape& shape : shapes) {
        const auto model = random_model(shape, fixed_pieces(), ++seed);
        const steer::Transformer transformer(model);
        for (const std::size_t length :
             {std::size_t{1}, std::size_t{2}, std::size_t{17}, shape.context / 2, shape.context}) {
            const auto tokens = random_tokens(length, model.shape.vocabulary, seed);
            const Row slow = slow_logits(model, tokens);
            const auto fast = read_in_pieces(transformer, tokens, length, 64);
            double spread = 0;
            for (std::size_t i = 0; i < slow.size(); ++i) {
                ASSERT_NEAR(static_cast<double>(fast[i]), slow[i], 1e-4) << length;
                spread = std::max(spread, std::abs(slow[i]));
            }
            EXPECT_GT(spread, 0.5) << "a model that says something";
        }
    }
}

TEST(ModelTransformer, BlocksAndPiecesChangeNoBit) {
    for (const steer::ModelShape& shape : shapes) {
        const auto model = random_model(shape, fixed_pieces(), 9);
        const steer::Transformer transformer(model);
        const auto tokens = random_tokens(shape.context, model.shape.vocabulary, 3);
        const auto whole = read_in_pieces(transformer, tokens, tokens.size(), 64);
        for (const std::size_t block : {1U, 2U, 3U, 7U, 16U, 33U, 500U})
            EXPECT_TRUE(
                same_floats(read_in_pieces(transformer, tokens, tokens.size(), block), whole));
        for (const std::size_t piece : {1U, 5U, 30U})
            EXPECT_TRUE(same_floats(read_in_pieces(transformer, tokens, piece, 64), whole));
    }
}

TEST(ModelTransformer, AKeptBeginningChangesNoBit) {
    const auto model = random_model(shapes[0], fixed_pieces(), 4);
    const steer::Transformer transformer(model);
    const auto first = random_tokens(60, model.shape.vocabulary, 1);
    steer::Reading reading(transformer);
    for (std::uint64_t question = 0; question < 5; ++question) {
        auto tokens = first;
        const auto more = random_tokens(20 + 15 * question, model.shape.vocabulary, 10 + question);
        tokens.insert(tokens.end(), more.begin(), more.end());
        reading.keep(std::min<std::size_t>(reading.tokens().size(), first.size()));
        EXPECT_TRUE(reading.read(std::span(tokens).subspan(reading.tokens().size()), go_on));
        EXPECT_TRUE(same_floats(all_logits(reading, model.shape.vocabulary),
                                read_in_pieces(transformer, tokens, tokens.size(), 64)));
    }
}

TEST(ModelTransformer, EndsBetweenBlocksWhereItIsTold) {
    const auto model = random_model(shapes[0], fixed_pieces(), 4);
    const steer::Transformer transformer(model);
    const auto tokens = random_tokens(100, model.shape.vocabulary, 1);
    steer::Reading reading(transformer, 16);
    int asked = 0;
    EXPECT_FALSE(reading.read(tokens, [&] { return ++asked < 4; }));
    EXPECT_EQ(reading.tokens().size(), 48U);
    EXPECT_TRUE(reading.read(std::span(tokens).subspan(48), go_on));
    EXPECT_TRUE(same_floats(all_logits(reading, model.shape.vocabulary),
                            read_in_pieces(transformer, tokens, 100, 64)));
}

std::vector<KernelPath> paths_here() {
    std::vector<KernelPath> paths;
    for (const KernelPath path : {KernelPath::portable, KernelPath::avx2, KernelPath::avx512})
        if (path <= steer::best_kernel_path()) paths.push_back(path);
    return paths;
}

TEST(ModelTransformer, EveryPathGivesTheSameBits) {
    for (const steer::ModelShape& shape : shapes) {
        const auto model = random_model(shape, fixed_pieces(), 21);
        const auto tokens = random_tokens(shape.context, model.shape.vocabulary, 2);
        const auto of = [&](KernelPath path, std::size_t block) {
            return read_in_pieces(steer::Transformer(model, path), tokens, tokens.size(), block);
        };
        const auto portable = of(KernelPath::portable, 64);
        for (const KernelPath path : paths_here())
            for (const std::size_t block : {1U, 64U})
                EXPECT_TRUE(same_floats(of(path, block), portable)) << static_cast<int>(path);
    }
}

// On every machine: whoever computes otherwise finds it here.
TEST(ModelTransformer, BitsAreThoseOfOtherMachines) {
    std::string bytes;
    for (const steer::ModelShape& shape : shapes) {
        const auto model = random_model(shape, fixed_pieces(), 77);
        const auto tokens = random_tokens(shape.context, model.shape.vocabulary, 5);
        const auto logits = read_in_pieces(steer::Transformer(model), tokens, tokens.size(), 64);
        bytes.append(reinterpret_cast<const char*>(logits.data()), logits.size() * sizeof(float));
    }
    EXPECT_EQ(to_hex(hash_bytes(std::as_bytes(std::span(bytes)))), "36f4e10266b4575b");
}

TEST(ModelKernels, SoftmaxGateAndNormOfOddSizes) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 8}), 0);
    for (const KernelPath path : paths_here()) {
        const steer::ModelKernels& kernels = steer::model_kernels(path);
        for (const std::size_t count : {1U, 3U, 16U, 17U, 100U, 161U}) {
            std::vector<float> scores(steer::in_panels(count) + 32, 7.0F);
            for (std::size_t i = 0; i < count; ++i)
                scores[i] = static_cast<float>(200 * draws.uniform() - 100);
            std::vector<double> slow(scores.begin(),
                                     scores.begin() + static_cast<std::ptrdiff_t>(count));
            kernels.soften(scores.data(), count, scores.size(), 0.5F);
            const double most = *std::ranges::max_element(slow);
            double sum = 0;
            for (double& value : slow)
                sum += value = std::exp(0.5 * (value - most));
            for (std::size_t i = 0; i < scores.size(); ++i)
                EXPECT_NEAR(static_cast<double>(scores[i]), i < count ? slow[i] / sum : 0, 1e-6);

            std::vector<float> gate(steer::in_panels(count));
            std::vector<float> up(gate.size(), 2.0F);
            for (float& value : gate)
                value = static_cast<float>(300 * draws.uniform() - 150);
            const std::vector<float> before = gate;
            kernels.gate(gate.data(), up.data(), gate.size());
            for (std::size_t i = 0; i < gate.size(); ++i) {
                const auto value = static_cast<double>(before[i]);
                EXPECT_NEAR(static_cast<double>(gate[i]), 2 * value / (1 + std::exp(-value)), 1e-4);
            }
        }
    }
}

TEST(ModelKernels, FunctionsOfTablesAreExact) {
    for (int i = 0; i < 20000; ++i) {
        const double x = 0.37 * i;
        const steer::SineCosine turn = steer::exact_sine(x);
        ASSERT_NEAR(turn.sine, std::sin(x), 1e-12) << x;
        ASSERT_NEAR(turn.cosine, std::cos(x), 1e-12) << x;
        ASSERT_NEAR(steer::exact_log(x + 0.01), std::log(x + 0.01), 1e-13) << x;
        const double y = 0.01 * i - 100;
        ASSERT_NEAR(steer::exact_exp(y) / std::exp(y), 1, 1e-13) << y;
    }
}

}  // namespace
}  // namespace rudder::test
