#include "draw_positions.hpp"

#include <algorithm>
#include <bit>

namespace rudder::sample {

namespace {

#if defined(__x86_64__)
#define RUDDER_TARGET(isa) __attribute__((target(isa)))
#endif

/// The high half of word * bound.
[[gnu::always_inline]] inline std::uint32_t scaled(std::uint32_t word,
                                                   std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{word} * bound) >> 32);
}

/// Replaces those of draw j that were drawn before by the position that this draw adds.
[[gnu::always_inline]] inline void repair(std::uint32_t j, const LaneGroup& group,
                                          std::uint32_t fanout, std::uint32_t* positions) noexcept {
    std::uint32_t* const mine = positions + std::size_t{j} * draw_lanes;
    alignas(64) std::array<std::uint32_t, draw_lanes> taken{};
    for (std::uint32_t i = 0; i < j; ++i) {
        const std::uint32_t* const earlier = positions + std::size_t{i} * draw_lanes;
        for (std::size_t lane = 0; lane < draw_lanes; ++lane)
            taken[lane] |= earlier[lane] == mine[lane] ? 1U : 0U;
    }
    for (std::size_t lane = 0; lane < draw_lanes; ++lane) {
        const std::uint32_t last = group.degree[lane] - fanout + j;
        mine[lane] = taken[lane] != 0 ? last : mine[lane];
    }
}

/// One body for all instruction sets: loops over the lanes that compilers turn into vector code.
[[gnu::always_inline]] inline void draw_body(Philox::Key key, const LaneGroup& group,
                                             std::uint32_t fanout, bool with_replacement,
                                             LanePositions& positions) noexcept {
    for (std::uint32_t first = 0; first < fanout; first += 4) {
        alignas(64) std::array<std::array<std::uint32_t, draw_lanes>, 4> words{group.low,
                                                                               group.high};
        words[2].fill(first / 4);
        words[3].fill(0);
        Philox::blocks(words, key);
        const std::uint32_t end = std::min(first + 4, fanout);
        for (std::uint32_t j = first; j < end; ++j) {
            std::uint32_t* const mine = positions.data() + std::size_t{j} * draw_lanes;
            const std::uint32_t less = with_replacement ? 0 : fanout - 1 - j;
            for (std::size_t lane = 0; lane < draw_lanes; ++lane)
                mine[lane] = scaled(words[j - first][lane], group.degree[lane] - less);
            if (!with_replacement) repair(j, group, fanout, positions.data());
        }
    }
}

void draw_portable(Philox::Key key, const LaneGroup& group, std::uint32_t fanout,
                   bool with_replacement, LanePositions& positions) noexcept {
    draw_body(key, group, fanout, with_replacement, positions);
}

#if defined(__x86_64__)

RUDDER_TARGET("avx2")
void draw_avx2(Philox::Key key, const LaneGroup& group, std::uint32_t fanout, bool with_replacement,
               LanePositions& positions) noexcept {
    draw_body(key, group, fanout, with_replacement, positions);
}

RUDDER_TARGET("avx512f,avx512bw,avx512dq,avx512vl")
void draw_avx512(Philox::Key key, const LaneGroup& group, std::uint32_t fanout,
                 bool with_replacement, LanePositions& positions) noexcept {
    draw_body(key, group, fanout, with_replacement, positions);
}

#endif

}  // namespace

bool can_run(DrawCode code) noexcept {
#if defined(__x86_64__)
    switch (code) {
        case DrawCode::portable:
            return true;
        case DrawCode::avx2:
            return __builtin_cpu_supports("avx2") != 0;
        case DrawCode::avx512:
            return __builtin_cpu_supports("avx512f") != 0 &&
                   __builtin_cpu_supports("avx512bw") != 0 &&
                   __builtin_cpu_supports("avx512dq") != 0 &&
                   __builtin_cpu_supports("avx512vl") != 0;
    }
    return false;
#else
    return code == DrawCode::portable;
#endif
}

DrawCode best_draw_code() noexcept {
    static const DrawCode best = can_run(DrawCode::avx512) ? DrawCode::avx512
                                 : can_run(DrawCode::avx2) ? DrawCode::avx2
                                                           : DrawCode::portable;
    return best;
}

void draw_positions(DrawCode code, Philox::Key key, const LaneGroup& group, std::uint32_t fanout,
                    bool with_replacement, LanePositions& positions) noexcept {
#if defined(__x86_64__)
    if (code == DrawCode::avx512)
        return draw_avx512(key, group, fanout, with_replacement, positions);
    if (code == DrawCode::avx2) return draw_avx2(key, group, fanout, with_replacement, positions);
#endif
    static_cast<void>(code);
    draw_portable(key, group, fanout, with_replacement, positions);
}

// ---- one vertex --------------------------------------------------------------------------------

namespace {

/// A number below `bound`, from 32 bits where the degree has no more.
EdgeIndex below(Draws& draws, EdgeIndex degree, EdgeIndex bound) noexcept {
    __extension__ using Wide = unsigned __int128;
    if (degree < (EdgeIndex{1} << 32)) return (draws.next32() * bound) >> 32;
    return static_cast<EdgeIndex>((static_cast<Wide>(draws.next64()) * bound) >> 64);
}

}  // namespace

bool SingleDraw::insert(EdgeIndex position) noexcept {
    const std::size_t mask = table_.size() - 1;
    const EdgeIndex entry = position + 1;  // 0 is free
    std::size_t at = (entry * 0x9E3779B97F4A7C15U) >> 32 & mask;
    while (table_[at] != 0) {
        if (table_[at] == entry) return false;
        at = (at + 1) & mask;
    }
    table_[at] = entry;
    return true;
}

void SingleDraw::draw(const RandomStream& stream, VertexId vertex, EdgeIndex degree,
                      bool with_replacement, std::span<EdgeIndex> out) {
    Draws draws(stream, vertex);
    if (with_replacement) {
        for (EdgeIndex& position : out)
            position = below(draws, degree, degree);
        return;
    }
    table_.assign(std::bit_ceil(out.size() * 2), 0);
    for (std::size_t j = 0; j < out.size(); ++j) {
        const EdgeIndex last = degree - out.size() + j;
        out[j] = below(draws, degree, last + 1);
        if (insert(out[j])) continue;
        out[j] = last;
        insert(last);
    }
}

}  // namespace rudder::sample
