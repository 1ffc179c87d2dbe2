// Sixteen edges are drawn side by side, so that Philox and the choice of quadrants vectorise; the
// widest instruction set the machine has is chosen once. All give the same bits.
#include "rmat.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t lanes = 16;
constexpr double rmat_degree = 16;

struct Kernel {
    Philox::Key key;
    std::array<std::uint32_t, 3> limits;
    int scale;
};

struct Lanes {
    std::array<std::uint64_t, lanes> source;
    std::array<std::uint64_t, lanes> target;
};

[[gnu::always_inline]] inline void draw_lanes(const Kernel& k, EdgeIndex first, Lanes& out) {
    std::array<std::uint64_t, lanes> source{};
    std::array<std::uint64_t, lanes> target{};
    for (int level = 0; level < k.scale; level += 8) {
        std::array<std::array<std::uint32_t, lanes>, 4> words;
        for (std::size_t i = 0; i < lanes; ++i) {
            words[0][i] = static_cast<std::uint32_t>(first + i);
            words[1][i] = static_cast<std::uint32_t>((first + i) >> 32);
            words[2][i] = static_cast<std::uint32_t>(level / 8);
            words[3][i] = 0;
        }
        Philox::blocks<lanes>(words, k.key);
        for (int here = level; here < std::min(level + 8, k.scale); ++here) {
            const auto& word = words[static_cast<std::size_t>(here % 8) / 2];
            const int shift = here % 2 * 16;
            for (std::size_t i = 0; i < lanes; ++i) {
                const std::uint32_t r = (word[i] >> shift) & 0xffffU;
                const std::uint32_t below_a = r < k.limits[0] ? 1 : 0;
                const std::uint32_t below_b = r < k.limits[1] ? 1 : 0;
                const std::uint32_t below_c = r < k.limits[2] ? 1 : 0;
                // Quadrants in order: (0,0), (0,1), (1,0), (1,1).
                source[i] = source[i] * 2 + (1 - below_b);
                target[i] = target[i] * 2 + ((below_b - below_a) + (1 - below_c));
            }
        }
    }
    out = {source, target};
}

using Draw = void (*)(const Kernel&, EdgeIndex, Lanes&);

#if defined(__x86_64__)
[[gnu::target("avx512f,avx512dq,avx512vl")]] void draw_avx512(const Kernel& k, EdgeIndex first,
                                                              Lanes& out) {
    draw_lanes(k, first, out);
}
[[gnu::target("avx2")]] void draw_avx2(const Kernel& k, EdgeIndex first, Lanes& out) {
    draw_lanes(k, first, out);
}
#endif
void draw_plain(const Kernel& k, EdgeIndex first, Lanes& out) {
    draw_lanes(k, first, out);
}

Draw best_draw() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0) {
        return draw_avx512;
    }
    if (__builtin_cpu_supports("avx2") != 0) return draw_avx2;
#endif
    return draw_plain;
}

std::uint32_t fraction(double share) {
    return static_cast<std::uint32_t>(std::lround(share * 0x1.0p16));
}

int scale_for(VertexId vertices) {
    return std::max(0, static_cast<int>(std::bit_width(vertices - 1)));
}

}  // namespace

Rmat::Rmat(const GeneratorOptions& o)
    : scale_(scale_for(std::max<VertexId>(o.vertices, 1))),
      edges_(static_cast<EdgeIndex>((o.degree > 0 ? o.degree : rmat_degree) *
                                    std::ldexp(1.0, scale_))),
      limits_{},
      stream_({.purpose = Purpose::generate_edges, .seed = o.seed}) {
    if (!(o.a >= 0 && o.b >= 0 && o.c >= 0 && o.a + o.b + o.c <= 1)) {
        throw usage_error(fmt::format("invalid probabilities: {}, {}, {}", o.a, o.b, o.c),
                          "--rmat-shares", "give three numbers from 0 on that sum to at most 1");
    }
    limits_ = {fraction(o.a), fraction(o.a + o.b), fraction(o.a + o.b + o.c)};
    const auto words = stream_.block(~VertexId{0}, ~std::uint64_t{0});
    multipliers_ = {(std::uint64_t{words[0]} << 32 | words[1]) | 1,
                    (std::uint64_t{words[2]} << 32 | words[3]) | 1};
}

VertexId Rmat::permuted(VertexId v) const noexcept {
    if (scale_ < 2) return v;
    const VertexId mask = vertices() - 1;
    const int half = (scale_ + 1) / 2;
    for (const std::uint64_t multiplier : multipliers_) {
        v = (v * multiplier) & mask;
        v ^= v >> half;
    }
    return v;
}

template <class AnyEdge>
void Rmat::fill_any(EdgeIndex first, std::span<AnyEdge> out) const {
    static const Draw draw = best_draw();
    const Kernel kernel{stream_.key(), limits_, scale_};
    using Id = decltype(AnyEdge::source);
    Lanes drawn;
    for (std::size_t done = 0; done < out.size(); done += lanes) {
        draw(kernel, first + done, drawn);
        const std::size_t here = std::min(lanes, out.size() - done);
        for (std::size_t i = 0; i < here; ++i) {
            out[done + i] = {static_cast<Id>(permuted(drawn.source[i])),
                             static_cast<Id>(permuted(drawn.target[i]))};
        }
    }
}

void Rmat::fill(EdgeIndex first, std::span<NarrowEdge> out) const {
    fill_any(first, out);
}

void Rmat::fill(EdgeIndex first, std::span<Edge> out) const {
    fill_any(first, out);
}

}  // namespace rudder::graph
