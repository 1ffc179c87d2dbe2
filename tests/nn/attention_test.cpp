// The fused kernels of attention, each against plain loops in double precision.
#include "nn/attention.hpp"

#include <cmath>

#include "nn/paths.hpp"
#include "nn/random_batch.hpp"

namespace rudder {

namespace {

using testing::expect_close;
using testing::on_all_paths;
using testing::random_floats;

using Doubles = std::vector<double>;

/// A block, rows of all heads filled up to whole vectors with zeros, and gradients.
struct Bed {
    nn::Heads heads;
    sample::Batch batch;
    const sample::Block& block;
    std::vector<float> values;    ///< sources x width
    std::vector<float> own;       ///< destinations x width
    std::vector<float> vector;    ///< width
    std::vector<float> gradient;  ///< destinations x width

    Bed(std::size_t count, std::size_t columns, std::uint64_t seed)
        : heads{count, columns},
          batch(testing::random_batch({70, {6}, 50, 20, seed})),
          block(batch.blocks[0]),
          values(padded(block.sources, seed + 1)),
          own(padded(block.destinations, seed + 2)),
          vector(padded(1, seed + 3)),
          gradient(padded(block.destinations, seed + 4)) {}

    [[nodiscard]] std::vector<float> padded(std::size_t rows, std::uint64_t seed) const {
        auto all = random_floats(rows * heads.width(), seed);
        for (std::size_t i = 0; i < all.size(); ++i)
            if (i % heads.padded() >= heads.columns) all[i] = 0;
        return all;
    }
    [[nodiscard]] std::size_t width() const { return heads.width(); }
    [[nodiscard]] nn::Matrix rows_of(std::vector<float>& memory) const {
        return {memory.data(), memory.size() / width(), width(), width()};
    }
    [[nodiscard]] nn::ConstMatrix rows_of(const std::vector<float>& memory) const {
        return {memory.data(), memory.size() / width(), width(), width()};
    }
    /// Who a destination reads: itself, then its neighbours, with the numbers of the entries.
    template <class Each>
    void entries(const Each& body) const {
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            std::size_t entry = std::size_t{block.offsets[d]} + d;
            body(d, d, entry++);
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
                body(d, block.neighbours[e], entry++);
        }
    }
    [[nodiscard]] double dot(const float* a, const float* b, std::size_t h) const {
        double sum = 0;
        for (std::size_t c = h * heads.padded(); c < (h + 1) * heads.padded(); ++c)
            sum += static_cast<double>(a[c]) * static_cast<double>(b[c]);
        return sum;
    }
    [[nodiscard]] std::size_t slots() const { return nn::entry_count(block) * heads.count; }
};

double leaky(double x) {
    return x > 0 ? x : x * static_cast<double>(nn::attention_slope);
}
double slope(double x) {
    return x > 0 ? 1 : static_cast<double>(nn::attention_slope);
}

/// Softmax over the entries of each destination.
Doubles softmax(const Bed& bed, Doubles scores) {
    Doubles sums(bed.block.destinations * bed.heads.count, 0.0);
    const std::size_t heads = bed.heads.count;
    bed.entries([&](std::uint32_t d, std::uint32_t, std::size_t entry) {
        for (std::size_t h = 0; h < heads; ++h)
            sums[d * heads + h] += std::exp(scores[entry * heads + h]);
    });
    bed.entries([&](std::uint32_t d, std::uint32_t, std::size_t entry) {
        for (std::size_t h = 0; h < heads; ++h)
            scores[entry * heads + h] = std::exp(scores[entry * heads + h]) / sums[d * heads + h];
    });
    return scores;
}

/// What either kind of scores is before the leaky rectifier, and GAT's score.
struct Additive {
    std::vector<float> of_source;
    std::vector<float> of_destination;
    explicit Additive(const Bed& bed)
        : of_source(random_floats(bed.block.sources * bed.heads.count, 11)),
          of_destination(random_floats(bed.block.destinations * bed.heads.count, 12)) {}
    [[nodiscard]] nn::AdditiveScores view() const {
        return {of_source.data(), of_destination.data()};
    }
    [[nodiscard]] double raw(const Bed& bed, std::uint32_t d, std::uint32_t s,
                             std::size_t h) const {
        return static_cast<double>(of_source[s * bed.heads.count + h]) +
               static_cast<double>(of_destination[d * bed.heads.count + h]);
    }
    [[nodiscard]] Doubles alphas(const Bed& bed) const {
        Doubles scores(bed.slots());
        bed.entries([&](std::uint32_t d, std::uint32_t s, std::size_t entry) {
            for (std::size_t h = 0; h < bed.heads.count; ++h)
                scores[entry * bed.heads.count + h] = leaky(raw(bed, d, s, h));
        });
        return softmax(bed, scores);
    }
};

Doubles dynamic_alphas(const Bed& bed) {
    Doubles scores(bed.slots());
    const std::size_t width = bed.width();
    bed.entries([&](std::uint32_t d, std::uint32_t s, std::size_t entry) {
        for (std::size_t c = 0; c < width; ++c)
            scores[entry * bed.heads.count + c / bed.heads.padded()] +=
                static_cast<double>(bed.vector[c]) *
                leaky(static_cast<double>(bed.values[s * width + c]) +
                      static_cast<double>(bed.own[d * width + c]));
    });
    return softmax(bed, scores);
}

Doubles weighted_sums(const Bed& bed, const Doubles& alphas) {
    const std::size_t width = bed.width();
    Doubles sums(bed.block.destinations * width, 0.0);
    bed.entries([&](std::uint32_t d, std::uint32_t s, std::size_t entry) {
        for (std::size_t c = 0; c < width; ++c)
            sums[d * width + c] += alphas[entry * bed.heads.count + c / bed.heads.padded()] *
                                   static_cast<double>(bed.values[s * width + c]);
    });
    return sums;
}

/// Gradients of the scores after the leaky rectifier, for the gradient of the sums.
Doubles score_gradients(const Bed& bed, const Doubles& alphas) {
    const std::size_t heads = bed.heads.count;
    const std::size_t width = bed.width();
    Doubles by_alpha(bed.slots());
    Doubles means(bed.block.destinations * heads, 0.0);
    bed.entries([&](std::uint32_t d, std::uint32_t s, std::size_t entry) {
        for (std::size_t h = 0; h < heads; ++h) {
            by_alpha[entry * heads + h] =
                bed.dot(bed.gradient.data() + d * width, bed.values.data() + s * width, h);
            means[d * heads + h] += alphas[entry * heads + h] * by_alpha[entry * heads + h];
        }
    });
    bed.entries([&](std::uint32_t d, std::uint32_t, std::size_t entry) {
        for (std::size_t h = 0; h < heads; ++h) {
            double& x = by_alpha[entry * heads + h];
            x = alphas[entry * heads + h] * (x - means[d * heads + h]);
        }
    });
    return by_alpha;
}

constexpr std::pair<std::size_t, std::size_t> shapes[]{{1, 1}, {2, 7}, {3, 16}, {4, 20}, {1, 130}};

/// Memory of a transposed block.
struct Transposed {
    std::vector<std::uint32_t> offsets;
    std::vector<LocalId> readers;
    std::vector<std::uint32_t> edges;
    nn::TransposedBlock view;
    explicit Transposed(const sample::Block& block)
        : offsets(block.sources + 1),
          readers(block.edges()),
          edges(block.edges()),
          view{offsets, readers, edges} {
        nn::transpose(block, view);
    }
};

}  // namespace

TEST(AttentionKernels, HeadProducts) {
    for (const auto& [count, columns] : shapes) {
        const Bed bed(count, columns, 1);
        const auto made = on_all_paths([&] {
            std::vector<float> scores(bed.block.sources * count);
            nn::head_products(bed.heads, bed.rows_of(bed.values), bed.vector.data(), scores.data());
            return scores;
        });
        Doubles wanted;
        for (std::size_t s = 0; s < bed.block.sources; ++s)
            for (std::size_t h = 0; h < count; ++h)
                wanted.push_back(
                    bed.dot(bed.values.data() + s * bed.width(), bed.vector.data(), h));
        expect_close(made, wanted);
    }
}

TEST(AttentionKernels, AdditiveForward) {
    for (const auto& [count, columns] : shapes) {
        const Bed bed(count, columns, 2);
        const Additive scores(bed);
        std::vector<float> alphas(bed.slots());
        const nn::Attention attention{&bed.block, bed.heads, bed.rows_of(bed.values), alphas.data(),
                                      nullptr};
        const auto made = on_all_paths([&] {
            std::vector<float> sums(bed.block.destinations * bed.width());
            nn::attend(attention, scores.view(), {0, bed.block.destinations}, bed.rows_of(sums));
            return sums;
        });
        const Doubles wanted = scores.alphas(bed);
        expect_close(alphas, wanted);
        expect_close(made, weighted_sums(bed, wanted));
        // A few destinations at a time are no different.
        for (std::uint32_t d = 0; d < bed.block.destinations; d += 9) {
            const std::uint32_t last = std::min(d + 9, bed.block.destinations);
            std::vector<float> part((last - d) * bed.width());
            nn::attend(attention, scores.view(), {d, last - d}, bed.rows_of(part));
            ASSERT_EQ(std::memcmp(part.data(), made.data() + d * bed.width(),
                                  part.size() * sizeof(float)),
                      0);
        }
    }
}

TEST(AttentionKernels, DynamicForward) {
    for (const auto& [count, columns] : shapes) {
        const Bed bed(count, columns, 3);
        std::vector<float> alphas(bed.slots());
        const nn::Attention attention{&bed.block, bed.heads, bed.rows_of(bed.values), alphas.data(),
                                      nullptr};
        const auto made = on_all_paths([&] {
            std::vector<float> sums(bed.block.destinations * bed.width());
            nn::attend(attention, nn::DynamicScores{bed.rows_of(bed.own), bed.vector.data()},
                       {0, bed.block.destinations}, bed.rows_of(sums));
            return sums;
        });
        const Doubles wanted = dynamic_alphas(bed);
        expect_close(alphas, wanted);
        expect_close(made, weighted_sums(bed, wanted));
    }
}

TEST(AttentionKernels, AdditiveBackward) {
    for (const auto& [count, columns] : shapes) {
        const Bed bed(count, columns, 4);
        const Additive scores(bed);
        const Doubles weights = scores.alphas(bed);
        std::vector<float> alphas(weights.begin(), weights.end());
        std::vector<float> deltas(bed.slots());
        const nn::Attention attention{&bed.block, bed.heads, bed.rows_of(bed.values), alphas.data(),
                                      deltas.data()};
        const auto sums = on_all_paths([&] {
            std::vector<float> made(bed.block.destinations * count);
            nn::AdditiveScores with_sums = scores.view();
            with_sums.destination_sums = made.data();
            nn::attend_backward(attention, with_sums, bed.rows_of(bed.gradient),
                                {0, bed.block.destinations});
            return made;
        });
        Doubles wanted = score_gradients(bed, weights);
        Doubles by_destination(bed.block.destinations * count, 0.0);
        Doubles by_source(bed.block.sources * count, 0.0);
        Doubles through(bed.block.sources * bed.width(), 0.0);
        bed.entries([&](std::uint32_t d, std::uint32_t s, std::size_t entry) {
            for (std::size_t h = 0; h < count; ++h) {
                double& x = wanted[entry * count + h];
                x *= slope(scores.raw(bed, d, s, h));
                by_destination[d * count + h] += x;
                by_source[s * count + h] += x;
            }
            for (std::size_t c = 0; c < bed.width(); ++c)
                through[s * bed.width() + c] +=
                    weights[entry * count + c / bed.heads.padded()] *
                    static_cast<double>(bed.gradient[d * bed.width() + c]);
        });
        expect_close(deltas, wanted);
        expect_close(sums, by_destination);

        const Transposed readers(bed.block);
        std::vector<float> source_sums(bed.block.sources * count);
        const auto gathered = on_all_paths([&] {
            std::vector<float> out(bed.block.sources * bed.width());
            nn::AdditiveScores with_sums = scores.view();
            with_sums.source_sums = source_sums.data();
            nn::gather_attention(attention, with_sums, readers.view, bed.rows_of(bed.gradient),
                                 {0, bed.block.sources}, bed.rows_of(out));
            return out;
        });
        expect_close(gathered, through);
        expect_close(source_sums, by_source);
    }
}

TEST(AttentionKernels, DynamicBackward) {
    for (const auto& [count, columns] : shapes) {
        const Bed bed(count, columns, 5);
        const std::size_t width = bed.width();
        const Doubles weights = dynamic_alphas(bed);
        std::vector<float> alphas(weights.begin(), weights.end());
        std::vector<float> deltas(bed.slots());
        const nn::Attention attention{&bed.block, bed.heads, bed.rows_of(bed.values), alphas.data(),
                                      deltas.data()};
        nn::DynamicScores scores{bed.rows_of(bed.own), bed.vector.data()};
        std::vector<float> vector_sums;
        const auto back = on_all_paths([&] {
            vector_sums.assign(width, 0.5F);  // what is there already stays in the sum
            std::vector<float> made(bed.block.destinations * width);
            scores.back = bed.rows_of(made);
            scores.vector_sums = vector_sums.data();
            nn::attend_backward(attention, scores, bed.rows_of(bed.gradient),
                                {0, bed.block.destinations});
            return made;
        });
        const Doubles by_score = score_gradients(bed, weights);
        Doubles by_own(bed.block.destinations * width, 0.0);
        Doubles by_vector(width, 0.5);
        Doubles by_value(bed.block.sources * width, 0.0);
        bed.entries([&](std::uint32_t d, std::uint32_t s, std::size_t entry) {
            for (std::size_t c = 0; c < width; ++c) {
                const std::size_t slot = entry * count + c / bed.heads.padded();
                const double x = static_cast<double>(bed.values[s * width + c]) +
                                 static_cast<double>(bed.own[d * width + c]);
                const double through =
                    by_score[slot] * slope(x) * static_cast<double>(bed.vector[c]);
                by_own[d * width + c] += through;
                by_vector[c] += by_score[slot] * leaky(x);
                by_value[s * width + c] +=
                    through + weights[slot] * static_cast<double>(bed.gradient[d * width + c]);
            }
        });
        expect_close(deltas, by_score);
        expect_close(back, by_own);
        expect_close(vector_sums, by_vector, 1e-4);

        const Transposed readers(bed.block);
        const auto gathered = on_all_paths([&] {
            std::vector<float> out(bed.block.sources * width);
            nn::gather_attention(attention, scores, readers.view, bed.rows_of(bed.gradient),
                                 {0, bed.block.sources}, bed.rows_of(out));
            return out;
        });
        expect_close(gathered, by_value);
    }
}

TEST(AttentionKernels, FinishAdditive) {
    const Bed bed(3, 10, 6);
    const std::size_t width = bed.width();
    const std::size_t destinations = bed.block.destinations;
    const std::size_t first = destinations - 5;  // some rows of destinations, some of others
    const std::size_t rows = 12;
    const auto through = bed.padded(rows, 20);
    const auto destination_vector = bed.padded(1, 21);
    auto by_source = random_floats(bed.block.sources * 3, 22);
    auto by_destination = random_floats(destinations * 3, 23);
    std::vector<float> sums;
    const auto made = on_all_paths([&] {
        sums.assign(2 * width, 0.25F);
        std::vector<float> values(
            bed.values.begin() + static_cast<std::ptrdiff_t>(first * width),
            bed.values.begin() + static_cast<std::ptrdiff_t>((first + rows) * width));
        nn::finish_additive(
            bed.heads,
            {bed.vector.data(), destination_vector.data(), sums.data(), sums.data() + width},
            bed.rows_of(through), {nullptr, nullptr, by_source.data(), by_destination.data()},
            destinations, first, bed.rows_of(values));
        return values;
    });
    Doubles wanted(rows * width);
    Doubles wanted_sums(2 * width, 0.25);
    for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t s = first + r;
        for (std::size_t c = 0; c < width; ++c) {
            const std::size_t h = c / bed.heads.padded();
            const double value = static_cast<double>(bed.values[s * width + c]);
            const double own = static_cast<double>(by_source[s * 3 + h]);
            double& x = wanted[r * width + c];
            x = static_cast<double>(through[r * width + c]) +
                own * static_cast<double>(bed.vector[c]);
            wanted_sums[c] += own * value;
            if (s >= destinations) continue;
            const double read = static_cast<double>(by_destination[s * 3 + h]);
            x += read * static_cast<double>(destination_vector[c]);
            wanted_sums[width + c] += read * value;
        }
    }
    expect_close(made, wanted);
    expect_close(sums, wanted_sums);
}

}  // namespace rudder
