#include "link_ranking.hpp"

#include <bit>
#include <cmath>

#include "rudder/core/check.hpp"

namespace rudder::train {

namespace {

/// The leading bits of a score, in the order of scores: NaN comes last.
std::size_t bin_of(float score) noexcept {
    constexpr std::uint32_t sign = 0x80000000U;
    const auto bits = std::bit_cast<std::uint32_t>(score);
    return ((bits & sign) != 0 ? ~bits : bits | sign) >> 16;
}

}  // namespace

LinkRanking::LinkRanking() : link_bins_(bins, 0), other_bins_(bins, 0) {}

void LinkRanking::add(float link, std::span<const float> others) noexcept {
    std::uint64_t above = 0;
    std::uint64_t equal = 0;
    for (const float other : others) {
        above += other > link ? 1U : 0U;
        equal += other == link ? 1U : 0U;
        add_other(other);
    }
    add_link(link, above, equal);
}

void LinkRanking::add_other(float other) noexcept {
    ++other_bins_[bin_of(other)];
    ++others_;
}

void LinkRanking::add_link(float link, std::uint64_t above, std::uint64_t equal) noexcept {
    ++link_bins_[bin_of(link)];
    ++links_;
    const std::uint64_t twice = 2 + 2 * above + equal;  // twice the rank
    reciprocals_ += static_cast<std::uint64_t>(std::llround(2 * unit / static_cast<double>(twice)));
    for (std::size_t k = 0; k < hit_ranks.size(); ++k)
        hits_[k] += twice <= 2 * std::uint64_t{hit_ranks[k]} ? 1U : 0U;
}

LinkRanking& LinkRanking::operator+=(const LinkRanking& other) noexcept {
    links_ += other.links_;
    others_ += other.others_;
    reciprocals_ += other.reciprocals_;
    for (std::size_t k = 0; k < hits_.size(); ++k)
        hits_[k] += other.hits_[k];
    for (std::size_t b = 0; b < bins; ++b) {
        link_bins_[b] += other.link_bins_[b];
        other_bins_[b] += other.other_bins_[b];
    }
    return *this;
}

LinkScores LinkRanking::scores() const {
    LinkScores out;
    out.links = links_;
    if (links_ == 0) return out;
    const auto links = static_cast<double>(links_);
    out.mrr = static_cast<double>(reciprocals_) / unit / links;
    for (std::size_t k = 0; k < hits_.size(); ++k)
        out.hits[k] = static_cast<double>(hits_[k]) / links;
    if (others_ == 0) return out;
    double below = 0;  // others in the bins before
    double won = 0;
    double unsure = 0;
    for (std::size_t b = 0; b < bins; ++b) {
        const auto here = static_cast<double>(link_bins_[b]);
        const auto other = static_cast<double>(other_bins_[b]);
        won += here * (below + other / 2);
        unsure += here * other / 2;
        below += other;
    }
    const double all = links * static_cast<double>(others_);
    out.auc = won / all;
    out.auc_error = unsure / all;
    return out;
}

std::vector<std::uint64_t> LinkRanking::numbers() const {
    std::vector<std::uint64_t> all{links_, others_, reciprocals_};
    all.insert(all.end(), hits_.begin(), hits_.end());
    all.insert(all.end(), link_bins_.begin(), link_bins_.end());
    all.insert(all.end(), other_bins_.begin(), other_bins_.end());
    return all;
}

void LinkRanking::add_numbers(std::span<const std::uint64_t> numbers) noexcept {
    RUDDER_CHECK(numbers.size() == 3 + hits_.size() + 2 * bins);
    links_ += numbers[0];
    others_ += numbers[1];
    reciprocals_ += numbers[2];
    for (std::size_t k = 0; k < hits_.size(); ++k)
        hits_[k] += numbers[3 + k];
    const auto sums = numbers.subspan(3 + hits_.size());
    for (std::size_t b = 0; b < bins; ++b) {
        link_bins_[b] += sums[b];
        other_bins_[b] += sums[bins + b];
    }
}

}  // namespace rudder::train
