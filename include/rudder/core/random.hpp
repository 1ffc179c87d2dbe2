// The counter-based random stream: Philox 4x32-10, keyed by what is drawn, never by who draws it.
#pragma once

#include <array>
#include <cstdint>

#include "rudder/core/types.hpp"

namespace rudder {

/// Philox 4x32-10 of Salmon et al. (SC 2011): a bijection of 128-bit counters, chosen by a 64-bit
/// key. Pure arithmetic, so a loop over counters vectorises.
struct Philox {
    using Counter = std::array<std::uint32_t, 4>;
    using Key = std::array<std::uint32_t, 2>;

    [[nodiscard]] static constexpr Counter block(Counter c, Key k) noexcept {
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c[0];
            const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c[2];
            c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
                 static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1],
                 static_cast<std::uint32_t>(p0)};
            k[0] += 0x9E3779B9U;
            k[1] += 0xBB67AE85U;
        }
        return c;
    }

    /// N blocks side by side, word by word, in a form that compilers turn into vector code:
    /// c[w][i] is word w of counter i, and of its block afterwards.
    template <std::size_t N>
    [[gnu::always_inline]] static inline void blocks(std::array<std::array<std::uint32_t, N>, 4>& c,
                                                     Key k) noexcept {
        for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 1
            for (std::size_t i = 0; i < N; ++i) {
                const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c[0][i];
                const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c[2][i];
                c[0][i] = static_cast<std::uint32_t>(p1 >> 32) ^ c[1][i] ^ k[0];
                c[1][i] = static_cast<std::uint32_t>(p1);
                c[2][i] = static_cast<std::uint32_t>(p0 >> 32) ^ c[3][i] ^ k[1];
                c[3][i] = static_cast<std::uint32_t>(p0);
            }
            k[0] += 0x9E3779B9U;
            k[1] += 0xBB67AE85U;
        }
    }
};

/// What a stream of draws is for; streams of different purposes are independent.
enum class Purpose : std::uint32_t {
    schedule = 1,
    sample = 2,
    initialise = 3,
    dropout = 4,
    split = 5,
    generate_edges = 6,
    generate_features = 7,
    generate_labels = 8,
    partition = 9,
    test = 10,
    evaluate = 11,
    steer = 12,
    round_rows = 20,
};

/// Where in a run a stream belongs (design, section 4). Whatever has no epoch, step or layer
/// leaves it 0.
struct StreamKey {
    Purpose purpose;
    std::uint64_t seed = 0;
    std::uint32_t epoch = 0;
    std::uint64_t step = 0;
    std::uint32_t layer = 0;
};

/// The stream of one key. The vertex (or edge, or row) and the index of the draw are the counter,
/// so any draw can be had at any time, in any order, by any thread.
class RandomStream {
public:
    explicit constexpr RandomStream(const StreamKey& key) noexcept : key_(derive(key)) {}

    /// Four 32-bit draws: number `index` of `vertex`.
    [[nodiscard]] constexpr Philox::Counter block(VertexId vertex,
                                                  std::uint64_t index) const noexcept {
        return Philox::block({low(vertex), high(vertex), low(index), high(index)}, key_);
    }

    [[nodiscard]] constexpr Philox::Key key() const noexcept { return key_; }

private:
    static constexpr std::uint32_t low(std::uint64_t v) noexcept {
        return static_cast<std::uint32_t>(v);
    }
    static constexpr std::uint32_t high(std::uint64_t v) noexcept {
        return static_cast<std::uint32_t>(v >> 32);
    }
    /// Folds the 224 bits of the key into 64 by two Philox blocks. Two keys of one run collide
    /// with probability 2^-64.
    static constexpr Philox::Key derive(const StreamKey& k) noexcept {
        const auto place = Philox::block({low(k.step), high(k.step), k.epoch, k.layer},
                                         {low(k.seed), high(k.seed)});
        const auto mixed = Philox::block({place[0], place[1], place[2], place[3]},
                                         {static_cast<std::uint32_t>(k.purpose), 0x52756464U});
        return {mixed[0], mixed[1]};
    }

    Philox::Key key_;
};

/// Draws one after the other for one vertex (or edge, or row) of a stream.
class Draws {
public:
    constexpr Draws(const RandomStream& stream, VertexId vertex) noexcept
        : stream_(stream), vertex_(vertex) {}

    [[nodiscard]] constexpr std::uint32_t next32() noexcept {
        if (used_ == 4) {
            words_ = stream_.block(vertex_, index_++);
            used_ = 0;
        }
        return words_[used_++];
    }
    [[nodiscard]] constexpr std::uint64_t next64() noexcept {
        const std::uint64_t first = next32();
        return (first << 32) | next32();
    }
    /// Uniform in [0, 1), 53 bits.
    [[nodiscard]] constexpr double uniform() noexcept {
        return static_cast<double>(next64() >> 11) * 0x1.0p-53;
    }
    /// Uniform in [0, bound), exact (Lemire's rejection); bound > 0.
    [[nodiscard]] constexpr std::uint64_t below(std::uint64_t bound) noexcept;
    /// Normal with mean 0 and variance 1 (Box-Muller; one value per call, two draws).
    [[nodiscard]] double normal() noexcept;

private:
    RandomStream stream_;  // by value: the one that was given may be gone
    VertexId vertex_;
    std::uint64_t index_ = 0;
    Philox::Counter words_{};
    std::uint32_t used_ = 4;
};

constexpr std::uint64_t Draws::below(std::uint64_t bound) noexcept {
    __extension__ using Wide = unsigned __int128;
    Wide product = static_cast<Wide>(next64()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
        const std::uint64_t threshold = (0 - bound) % bound;
        while (static_cast<std::uint64_t>(product) < threshold) {
            product = static_cast<Wide>(next64()) * bound;
        }
    }
    return static_cast<std::uint64_t>(product >> 64);
}

}  // namespace rudder
