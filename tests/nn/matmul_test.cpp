// Matrix products: each element is one chain of fused multiply-adds, whatever the vector path, the
// threads, the chunk it is computed in and where operands lie.
#include "rudder/nn/matmul.hpp"

#include <cmath>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "nn/paths.hpp"
#include "nn/random_batch.hpp"
#include "nn/simd.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/error.hpp"

namespace rudder {

namespace {

using testing::paths;
using testing::random_floats;
using testing::Restore;

enum class Kind : unsigned char { plain, transposed, first_transposed, added };
constexpr Kind kinds[]{Kind::plain, Kind::transposed, Kind::first_transposed, Kind::added};

/// Rows `shift` floats after a 64-byte boundary, `gap` floats between them; what lies between holds
/// a number that no product may change.
struct Stored {
    static constexpr float untouched = -77;
    Array<float> memory;
    nn::Matrix view;
    Stored(std::size_t rows, std::size_t columns, std::uint64_t seed, std::size_t shift = 0,
           std::size_t gap = 0)
        : memory(Array<float>::uninitialised(shift + rows * (columns + gap) + 64)) {
        std::fill(memory.begin(), memory.end(), untouched);
        view = {memory.data() + shift, rows, columns, columns + gap};
        const auto values = random_floats(rows * columns, seed);
        for (std::size_t r = 0; r < rows; ++r)
            std::copy_n(values.data() + r * columns, columns, view.row(r));
    }
    [[nodiscard]] std::vector<float> values() const {
        std::vector<float> all;
        for (std::size_t r = 0; r < view.rows; ++r)
            all.insert(all.end(), view.row(r), view.row(r) + view.columns);
        return all;
    }
    /// How many floats outside the matrix were changed.
    [[nodiscard]] std::size_t spoilt() const {
        std::size_t inside = 0;
        for (const float x : memory)
            inside += x != untouched ? 1U : 0U;
        return inside - view.rows * view.columns;
    }
};

struct Shape {
    std::size_t m, n, k;
};

/// Operands of a product of one kind.
struct Operands {
    Stored a;
    Stored b;
    Operands(Kind kind, Shape s, std::size_t shift = 0, std::size_t gap = 0)
        : a(kind == Kind::first_transposed || kind == Kind::added
                ? Stored(s.k, s.m, 1, shift, gap)
                : Stored(s.m, s.k, 1, shift, gap)),
          b(kind == Kind::transposed ? Stored(s.n, s.k, 2, shift, gap)
                                     : Stored(s.k, s.n, 2, shift, gap)) {}
};

void run(Kind kind, const Operands& o, const nn::Matrix& c) {
    switch (kind) {
        case Kind::plain:
            return nn::multiply(o.a.view, o.b.view, c);
        case Kind::transposed:
            return nn::multiply_transposed(o.a.view, o.b.view, c);
        case Kind::first_transposed:
            return nn::multiply_first_transposed(o.a.view, o.b.view, c, nn::Accumulate::no);
        case Kind::added:
            return nn::multiply_first_transposed(o.a.view, o.b.view, c, nn::Accumulate::yes);
    }
}

/// The chain, written out.
std::vector<float> expected(Kind kind, const Operands& o, const Stored& before) {
    std::vector<float> all;
    const bool first = kind == Kind::first_transposed || kind == Kind::added;
    const std::size_t depth = first ? o.a.view.rows : o.a.view.columns;
    for (std::size_t i = 0; i < before.view.rows; ++i) {
        for (std::size_t j = 0; j < before.view.columns; ++j) {
            float sum = kind == Kind::added ? before.view.row(i)[j] : 0.F;
            for (std::size_t k = 0; k < depth; ++k) {
                const float a = first ? o.a.view.row(k)[i] : o.a.view.row(i)[k];
                const float b = kind == Kind::transposed ? o.b.view.row(j)[k] : o.b.view.row(k)[j];
                sum = std::fma(a, b, sum);
            }
            all.push_back(sum);
        }
    }
    return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// All kinds and paths of one shape, with rows that do and do not begin at 64 bytes.
void check(Shape s) {
    for (const Kind kind : kinds) {
        for (const auto& [shift, gap] : {std::pair{0U, 0U}, {0U, 5U}, {3U, 1U}, {16U, 16U}}) {
            const Operands operands(kind, s, shift, gap);
            const Stored before(s.m, s.n, 3, shift, gap);
            const auto wanted = expected(kind, operands, before);
            for (const nn::VectorPath path : paths) {
                nn::set_vector_path(path);
                const Stored c(s.m, s.n, 3, shift, gap);
                run(kind, operands, c.view);
                ASSERT_TRUE(same_bits(c.values(), wanted))
                    << s.m << "x" << s.n << "x" << s.k << " kind " << static_cast<int>(kind) << " "
                    << to_string(path) << " shift " << shift;
                ASSERT_EQ(c.spoilt(), 0U) << s.m << "x" << s.n << "x" << s.k;
            }
        }
    }
}

}  // namespace

TEST(Matmul, KnownAnswer) {
    const Restore restore;
    const std::vector<float> a{1, 2, 3, 4, 5, 6};
    const std::vector<float> b{7, 8, 9, 10, 11, 12};
    for (const nn::VectorPath path : paths) {
        nn::set_vector_path(path);
        std::vector<float> c(4, -1);
        nn::multiply({a.data(), 2, 3, 3}, {b.data(), 3, 2, 2}, {c.data(), 2, 2, 2});
        EXPECT_EQ(c, (std::vector<float>{58, 64, 139, 154}));
        nn::multiply_transposed({a.data(), 2, 3, 3}, {b.data(), 2, 3, 3}, {c.data(), 2, 2, 2});
        EXPECT_EQ(c, (std::vector<float>{50, 68, 122, 167}));
        nn::multiply_first_transposed({a.data(), 3, 2, 2}, {b.data(), 3, 2, 2}, {c.data(), 2, 2, 2},
                                      nn::Accumulate::yes);
        EXPECT_EQ(c, (std::vector<float>{50 + 89, 68 + 98, 122 + 116, 167 + 128}));
    }
}

TEST(Matmul, EveryTileAndTail) {
    const Restore restore;
    // Around the heights of tiles (4, 8) and the widths of vectors and panels (8, 16, 24, 48).
    for (const std::size_t m : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 17U})
        for (const std::size_t n : {1U, 7U, 8U, 9U, 15U, 16U, 17U, 25U, 31U, 33U, 48U, 49U, 97U})
            check({m, n, 5});
}

TEST(Matmul, DepthsAcrossBlocks) {
    const Restore restore;
    for (const std::size_t k : {1U, 2U, 15U, 16U, 17U, 95U, 96U, 255U, 256U, 257U, 513U, 1100U})
        check({5, 19, k});
}

TEST(Matmul, ManyColumnsAndRows) {
    const Restore restore;
    check({3, 1000, 7});
    check({300, 20, 9});
    check({13, 481, 257});
}

TEST(Matmul, RandomShapes) {
    const Restore restore;
    std::mt19937_64 random(5);
    for (int i = 0; i < 40; ++i)
        check({1 + random() % 40, 1 + random() % 120, 1 + random() % 300});
}

TEST(Matmul, ARowAloneOrInAnyChunkHasTheSameBits) {
    constexpr Shape s{256, 100, 300};
    for (const Kind kind : {Kind::plain, Kind::transposed}) {
        const Operands whole(kind, s);
        const Stored c(s.m, s.n, 3);
        run(kind, whole, c.view);
        for (const std::size_t rows : {1U, 3U, 64U, 255U}) {
            for (std::size_t first = 0; first + rows <= s.m; first += rows) {
                std::vector<float> part(rows * s.n);
                const nn::Matrix out{part.data(), rows, s.n, s.n};
                if (kind == Kind::plain)
                    nn::multiply(whole.a.view.part(first, rows), whole.b.view, out);
                else
                    nn::multiply_transposed(whole.a.view.part(first, rows), whole.b.view, out);
                ASSERT_EQ(std::memcmp(part.data(), c.view.row(first), part.size() * sizeof(float)),
                          0)
                    << rows << " rows from " << first;
            }
        }
    }
}

TEST(Matmul, SumsInChunksAreThoseOfTheWhole) {
    constexpr Shape s{47, 100, 1000};
    const Operands o(Kind::added, s);
    const Stored whole(s.m, s.n, 3);
    run(Kind::first_transposed, o, whole.view);
    for (const std::size_t rows : {1U, 7U, 250U, 256U, 999U}) {
        const Stored c(s.m, s.n, 3);
        for (std::size_t first = 0; first < s.k; first += rows) {
            const std::size_t count = std::min<std::size_t>(rows, s.k - first);
            nn::multiply_first_transposed(o.a.view.part(first, count), o.b.view.part(first, count),
                                          c.view,
                                          first == 0 ? nn::Accumulate::no : nn::Accumulate::yes);
        }
        EXPECT_TRUE(same_bits(c.values(), whole.values())) << rows;
    }
}

TEST(Matmul, ThreadsSideBySideHaveTheSameBits) {
    constexpr Shape s{200, 70, 150};
    const Operands o(Kind::transposed, s);
    const Stored first(s.m, s.n, 3);
    run(Kind::transposed, o, first.view);
    std::vector<std::thread> threads;
    std::vector<int> equal(4, 0);
    for (std::size_t t = 0; t < equal.size(); ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                const Stored c(s.m, s.n, t);
                run(Kind::transposed, o, c.view);
                equal[t] += same_bits(c.values(), first.values()) ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(equal, std::vector<int>(4, 50));
}

TEST(Matmul, NothingToMultiply) {
    std::vector<float> c{1, 2, 3, 4};
    const nn::Matrix out{c.data(), 2, 2, 2};
    nn::multiply_first_transposed({nullptr, 0, 2, 2}, {nullptr, 0, 2, 2}, out, nn::Accumulate::yes);
    EXPECT_EQ(c, (std::vector<float>{1, 2, 3, 4}));
    nn::multiply({nullptr, 2, 0, 0}, {nullptr, 0, 2, 2}, out);
    EXPECT_EQ(c, (std::vector<float>{0, 0, 0, 0}));
    nn::multiply({nullptr, 0, 3, 3}, {nullptr, 3, 0, 0}, {nullptr, 0, 0, 0});
}

TEST(Matmul, NotANumberAndInfinityPassThrough) {
    const Restore restore;
    for (const nn::VectorPath path : paths) {
        nn::set_vector_path(path);
        const Operands o(Kind::plain, {9, 20, 30});
        o.a.view.row(4)[7] = std::numeric_limits<float>::quiet_NaN();
        o.b.view.row(3)[11] = std::numeric_limits<float>::infinity();
        const Stored c(9, 20, 3);
        run(Kind::plain, o, c.view);
        for (std::size_t i = 0; i < 9; ++i)
            for (std::size_t j = 0; j < 20; ++j)
                ASSERT_EQ(std::isfinite(c.view.row(i)[j]), i != 4 && j != 11);
    }
}

TEST(Matmul, ShapesThatDoNotFitAreRefused) {
    std::vector<float> memory(16);
    const auto of = [&](std::size_t rows, std::size_t columns) {
        return nn::Matrix{memory.data(), rows, columns, columns};
    };
    EXPECT_THROW(nn::multiply(of(2, 3), of(2, 2), of(2, 2)), InternalError);
    EXPECT_THROW(nn::multiply_transposed(of(2, 3), of(2, 2), of(2, 2)), InternalError);
    EXPECT_THROW(nn::multiply_first_transposed(of(3, 2), of(2, 2), of(2, 2), nn::Accumulate::no),
                 InternalError);
    EXPECT_THROW(nn::multiply(of(2, 3), of(3, 2), of(3, 2)), InternalError);
}

}  // namespace rudder
