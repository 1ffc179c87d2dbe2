#include "rudder/nn/dropout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dispatch.hpp"

namespace rudder {

namespace {

constexpr std::size_t lanes = 16;   ///< blocks drawn side by side
constexpr std::size_t group = 128;  ///< columns they serve: 4 words of 2 halves each

using Words = std::array<std::array<std::uint32_t, lanes>, 4>;

/// The words of one group of columns of one vertex.
RUDDER_INLINE void draw(Philox::Key key, VertexId vertex, std::size_t first_block,
                        Words& words) noexcept {
    for (std::size_t i = 0; i < lanes; ++i) {
        words[0][i] = static_cast<std::uint32_t>(vertex);
        words[1][i] = static_cast<std::uint32_t>(vertex >> 32);
        words[2][i] = static_cast<std::uint32_t>(first_block + i);
        words[3][i] = 0;
    }
    Philox::blocks(words, key);
}

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
RUDDER_INLINE void drop_rows(const ConstMatrix& in, const Matrix& out, const Dropout& dropout,
                             const VertexId* vertices, const F& f) noexcept {
    Words words;
    for (std::size_t r = 0; r < in.rows; ++r) {
        const float* from = in.row(r);
        float* to = out.row(r);
        for (std::size_t begin = 0; begin < in.columns; begin += group) {
            draw(dropout.key, vertices[r], begin / group * lanes, words);
            for (std::size_t part = 0; part < group / lanes; ++part) {
                const std::size_t column = begin + part * lanes;
                if (column >= in.columns) break;
                const std::size_t count = std::min(lanes, in.columns - column);
                drop_columns(from, to, column, count, words[part % 4].data(), part < 4 ? 0U : 16U,
                             dropout, f);
            }
        }
    }
}

template <class F>
RUDDER_AVX512 void drop_avx512(const ConstMatrix& in, const Matrix& out, const Dropout& dropout,
                               const VertexId* vertices, const F& f) noexcept {
    drop_rows(in, out, dropout, vertices, f);
}
template <class F>
RUDDER_AVX2 void drop_avx2(const ConstMatrix& in, const Matrix& out, const Dropout& dropout,
                           const VertexId* vertices, const F& f) noexcept {
    drop_rows(in, out, dropout, vertices, f);
}
template <class F>
void drop_portable(const ConstMatrix& in, const Matrix& out, const Dropout& dropout,
                   const VertexId* vertices, const F& f) noexcept {
    drop_rows(in, out, dropout, vertices, f);
}

template <class F>
void drop_any(const ConstMatrix& in, const Matrix& out, const Dropout& dropout,
              std::span<const VertexId> vertices, const F& f) noexcept {
    if (!dropout.drops()) {
        for (std::size_t r = 0; r < in.rows; ++r)
            for (std::size_t c = 0; c < in.columns; ++c)
                out.row(r)[c] = f(in.row(r)[c], c);
        return;
    }
    switch (vector_path()) {
        case VectorPath::avx512:
            return drop_avx512(in, out, dropout, vertices.data(), f);
        case VectorPath::avx2:
            return drop_avx2(in, out, dropout, vertices.data(), f);
        case VectorPath::portable:
            return drop_portable(in, out, dropout, vertices.data(), f);
    }
}

}  // namespace

Dropout::Dropout(const StreamKey& stream, double rate) noexcept
    : key(RandomStream(stream).key()),
      threshold(static_cast<std::uint32_t>(std::lround(std::clamp(rate, 0.0, 1.0) * 65536.0))),
      scale(threshold == 65536
                ? 0.F
                : static_cast<float>(65536.0 / static_cast<double>(65536 - threshold))) {}

bool Dropout::keeps(VertexId vertex, std::uint64_t column) const noexcept {
    const std::uint64_t k = column % group;
    const std::uint64_t index = column / group * lanes + k % lanes;
    const auto words =
        Philox::block({static_cast<std::uint32_t>(vertex), static_cast<std::uint32_t>(vertex >> 32),
                       static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)},
                      key);
    return ((words[k / lanes % 4] >> (k < 64 ? 0U : 16U)) & 0xFFFFU) >= threshold;
}

void bias_rectify_drop(const Matrix& rows, std::span<const float> bias, const Dropout& dropout,
                       std::span<const VertexId> vertices) noexcept {
    drop_any(rows, rows, dropout, vertices, Rectify{bias.data()});
}

void drop(const ConstMatrix& rows, const Dropout& dropout, std::span<const VertexId> vertices,
          const Matrix& out) noexcept {
    drop_any(rows, out, dropout, vertices, Same{});
}

}  // namespace rudder
