// How often each row was used, old uses counting less: one addition per use.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/buffer/row_numbering.hpp"

namespace rudder::buffer {

/// Counts that lose the factor `decay` per step. All age alike, so their order changes by uses
/// alone: instead of shrinking all counts, the weight of a use grows, and all are scaled down
/// together long before the weight overflows.
class AgedCounts {
public:
    explicit AgedCounts(double decay) : growth_(1 / decay) {}

    void know(RowKey rows) {
        if (rows > counts_.size()) counts_.resize(rows, 0);
    }
    /// Another decay from now on.
    void set_decay(double decay) noexcept { growth_ = 1 / decay; }
    /// A step passes. The result is what all counts were multiplied by: 1 nearly always; whoever
    /// keeps copies multiplies them, too.
    double step() {
        constexpr double limit = 0x1p+400;
        constexpr double factor = 0x1p-400;
        weight_ *= growth_;
        if (weight_ < limit) return 1;
        weight_ *= factor;
        for (double& count : counts_)
            count *= factor;
        return factor;
    }
    void use(RowKey row) noexcept { counts_[row] += weight_; }
    /// The count, in units of its own: to be compared with others of the same step only.
    [[nodiscard]] double operator[](RowKey row) const noexcept { return counts_[row]; }
    /// What one use now adds.
    [[nodiscard]] double weight() const noexcept { return weight_; }
    [[nodiscard]] std::size_t size() const noexcept { return counts_.size(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return counts_.capacity() * sizeof(double);
    }

private:
    std::vector<double> counts_;  ///< by row
    double growth_;
    double weight_ = 1;
};

}  // namespace rudder::buffer
