#include "rudder/nn/dropout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "core/column_draws.hpp"

#include "dispatch.hpp"

namespace rudder::nn {

namespace {

constexpr std::size_t lanes = ColumnDraws::lanes;
constexpr std::size_t group = ColumnDraws::group;

/// Rectifies x + bias.
struct Rectify {
    const float* bias;
    RUDDER_INLINE float operator()(float x, std::size_t column) const noexcept {
        const float y = x + bias[column];
        return y <= 0.F ? 0.F : y;  // keeps what is not a number
    }
};
struct Same {
    RUDDER_INLINE float operator()(float x, std::size_t) const noexcept { return x; }
};

/// At most 16 columns from one half of one word each.
template <class F>
RUDDER_INLINE void drop_columns(const float* in, float* out, std::size_t column, std::size_t count,
                                const std::uint32_t* words, unsigned shift, const Dropout& dropout,
                                const F& f) noexcept {
    const std::uint32_t threshold = dropout.threshold;
    const float scale = dropout.scale;
    if (count == lanes) {
        for (std::size_t i = 0; i < lanes; ++i) {
            const bool keep = ((words[i] >> shift) & 0xFFFFU) >= threshold;
            const float x = f(in[column + i], column + i) * scale;
            out[column + i] = keep ? x : 0.F;
        }
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const bool keep = ((words[i] >> shift) & 0xFFFFU) >= threshold;
        out[column + i] = keep ? f(in[column + i], column + i) * scale : 0.F;
    }
}

template <class F>
struct DropRows {
    ConstMatrix in;
    Matrix out;
    const Dropout& dropout;
    const VertexId* vertices;
    F f;

    template <std::size_t W>
    RUDDER_INLINE void run() const noexcept {
        using Draw = std::conditional_t<W == 16, DrawAvx512,
                                        std::conditional_t<W == 8, DrawAvx2, DrawPortable>>;
        ColumnDraws::Words words;
        for (std::size_t r = 0; r < in.rows; ++r) {
            for (std::size_t begin = 0; begin < in.columns; begin += group) {
                Draw::draw(dropout.key, vertices[r], begin / group * lanes, words);
                for (std::size_t part = 0; part < group / lanes; ++part) {
                    const std::size_t column = begin + part * lanes;
                    if (column >= in.columns) break;
                    const std::size_t count = std::min(lanes, in.columns - column);
                    drop_columns(in.row(r), out.row(r), column, count, words[part % 4].data(),
                                 part < 4 ? 0U : 16U, dropout, f);
                }
            }
        }
    }
};

template <class F>
void drop_any(const ConstMatrix& in, const Matrix& out, const Dropout& dropout,
              std::span<const VertexId> vertices, const F& f) noexcept {
    if (!dropout.drops()) {
        for (std::size_t r = 0; r < in.rows; ++r) {
            for (std::size_t c = 0; c < in.columns; ++c)
                out.row(r)[c] = f(in.row(r)[c], c);
        }
        return;
    }
    run_kernel(DropRows<F>{in, out, dropout, vertices.data(), f});
}

}  // namespace

Dropout::Dropout(const StreamKey& stream, double rate) noexcept
    : key(RandomStream(stream).key()),
      threshold(static_cast<std::uint32_t>(std::lround(std::clamp(rate, 0.0, 1.0) * 65536.0))),
      scale(threshold == 65536
                ? 0.F
                : static_cast<float>(65536.0 / static_cast<double>(65536 - threshold))) {}

bool Dropout::keeps(VertexId vertex, std::uint64_t column) const noexcept {
    return ColumnDraws::bits(key, vertex, column) >= threshold;
}

void bias_rectify_drop(const Matrix& rows, std::span<const float> bias, const Dropout& dropout,
                       std::span<const VertexId> vertices) noexcept {
    drop_any(rows, rows, dropout, vertices, Rectify{bias.data()});
}

void drop(const ConstMatrix& rows, const Dropout& dropout, std::span<const VertexId> vertices,
          const Matrix& out) noexcept {
    drop_any(rows, out, dropout, vertices, Same{});
}

}  // namespace rudder::nn
