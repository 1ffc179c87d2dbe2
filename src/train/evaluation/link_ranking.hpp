// How well links are told from other pairs: ranks and areas, added up in a stream.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace rudder::train {

/// Ranks whose shares of hits are counted.
inline constexpr std::array<std::uint32_t, 5> hit_ranks{1, 3, 10, 50, 100};

/// What ranking came to: means over the links.
struct LinkScores {
    std::uint64_t links = 0;
    double mrr = 0;                               ///< mean of one over the rank
    std::array<double, hit_ranks.size()> hits{};  ///< share of ranks up to each of hit_ranks
    /// Chance that a link scores above another pair, of all links and all other pairs.
    double auc = 0;
    double auc_error = 0;  ///< at most, since scores are kept in bins
};

/// Adds up the ranks of links among pairs that are not joined. A link's rank is one more than the
/// number of others that score above it, and half of those that score the same (so that a network
/// that gives all pairs one score is in the middle). Sums are whole numbers, so no order of links,
/// chunks or ranks shows in them; scores are counted in bins of equal leading bits.
class LinkRanking {
public:
    LinkRanking();

    /// A link's score and those of the others beside it.
    void add(float link, std::span<const float> others) noexcept;
    /// The same in pieces: each of the others, and then the link, of whose others so many scored
    /// above it and so many the same.
    void add_other(float other) noexcept;
    void add_link(float link, std::uint64_t above, std::uint64_t equal) noexcept;
    LinkRanking& operator+=(const LinkRanking& other) noexcept;
    [[nodiscard]] LinkScores scores() const;

    /// All sums, as they travel between ranks.
    [[nodiscard]] std::vector<std::uint64_t> numbers() const;
    /// Adds what another rank's `numbers` say.
    void add_numbers(std::span<const std::uint64_t> numbers) noexcept;

private:
    static constexpr std::size_t bins = std::size_t{1} << 16;
    /// One over a rank in units of 2^-40, rounded: a sum of 10^7 of them stays below 2^64.
    static constexpr double unit = 0x1.0p40;

    std::uint64_t links_ = 0;
    std::uint64_t others_ = 0;
    std::uint64_t reciprocals_ = 0;
    std::array<std::uint64_t, hit_ranks.size()> hits_{};
    std::vector<std::uint64_t> link_bins_;
    std::vector<std::uint64_t> other_bins_;
};

}  // namespace rudder::train
