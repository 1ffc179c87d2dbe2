// What each part holds of the things that can be balanced, and the limits on it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "partitioner.hpp"

namespace rudder::partition {

/// Vertices, training vertices, arcs: always in this order.
inline constexpr std::size_t balance_kinds = 3;
using Weights = std::array<std::uint64_t, balance_kinds>;

/// What vertex v adds to its part.
[[nodiscard]] inline Weights weights_of(const PartitionInput& input, VertexId v) noexcept {
    const bool train = !input.roles.empty() && input.roles[v] == graph::Role::train;
    return {1, train ? 1U : 0U, input.stored.degree(v)};
}

/// The sums of all parts, kept while vertices come and go.
class Loads {
public:
    /// Empty parts. What is not to be balanced, or does not occur, has no limit.
    Loads(const PartitionInput& input, const PartitionOptions& options);

    [[nodiscard]] PartId parts() const noexcept { return static_cast<PartId>(loads_.size()); }
    [[nodiscard]] const Weights& operator[](PartId p) const noexcept { return loads_[p]; }
    [[nodiscard]] bool active(std::size_t kind) const noexcept { return active_[kind]; }
    [[nodiscard]] std::uint64_t limit(std::size_t kind) const noexcept { return limits_[kind]; }
    /// The largest part's load over the mean; 1 where there is nothing.
    [[nodiscard]] double imbalance(std::size_t kind) const;

    void add(PartId p, const Weights& w) noexcept {
        for (std::size_t c = 0; c < balance_kinds; ++c) {
            loads_[p][c] += w[c];
            placed_[c] += w[c];
        }
    }
    void remove(PartId p, const Weights& w) noexcept {
        for (std::size_t c = 0; c < balance_kinds; ++c) {
            loads_[p][c] -= w[c];
            placed_[c] -= w[c];
        }
    }
    void clear() {
        std::ranges::fill(loads_, Weights{});
        placed_ = {};
    }
    /// Counts a whole assignment afresh.
    void count(const PartitionInput& input, std::span<const PartId> parts);

    /// Whether part p stays within its limits with w more.
    [[nodiscard]] bool fits(PartId p, const Weights& w) const noexcept {
        for (std::size_t c = 0; c < balance_kinds; ++c) {
            if (w[c] != 0 && loads_[p][c] + w[c] > limits_[c]) return false;
        }
        return true;
    }
    /// How full part p is: the largest of its loads over their means.
    [[nodiscard]] double fullness(PartId p) const noexcept { return fullness(p, per_mean_); }
    /// The largest of its loads, each times a factor.
    [[nodiscard]] double fullness(PartId p,
                                  const std::array<double, balance_kinds>& factors) const noexcept {
        double most = 0;
        for (std::size_t c = 0; c < balance_kinds; ++c)
            most = std::max(most, static_cast<double>(loads_[p][c]) * factors[c]);
        return most;
    }
    /// The factors that make loads shares of the mean of what has been added so far, taken as at
    /// least `head_start` of all.
    [[nodiscard]] std::array<double, balance_kinds> per_placed(double head_start) const noexcept {
        std::array<double, balance_kinds> factors{};
        for (std::size_t c = 0; c < balance_kinds; ++c) {
            if (per_mean_[c] == 0) continue;
            const double share = static_cast<double>(placed_[c]) / static_cast<double>(totals_[c]);
            factors[c] = per_mean_[c] / std::max(share, head_start);
        }
        return factors;
    }
    /// Whether part p exceeds a limit.
    [[nodiscard]] bool over(PartId p) const noexcept {
        for (std::size_t c = 0; c < balance_kinds; ++c) {
            if (loads_[p][c] > limits_[c]) return true;
        }
        return false;
    }
    /// By how much moving w from p to q lowers what exceeds the limits, in means.
    [[nodiscard]] double relief(PartId p, PartId q, const Weights& w) const noexcept;

private:
    [[nodiscard]] double excess(std::size_t kind, std::uint64_t load) const noexcept {
        return load > limits_[kind] ? static_cast<double>(load - limits_[kind]) * per_mean_[kind]
                                    : 0.0;
    }

    std::vector<Weights> loads_;
    Weights totals_{};
    Weights placed_{};  ///< sums over all parts
    Weights limits_{};
    std::array<double, balance_kinds> per_mean_{};  ///< 0 where there is no limit
    std::array<bool, balance_kinds> active_{};
};

}  // namespace rudder::partition
