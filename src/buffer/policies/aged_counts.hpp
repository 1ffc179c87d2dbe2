// How often each row was used, old uses counting less: one addition per use.
#pragma once

#include <cstdint>
#include <vector>

#include "core/huge_vector.hpp"
#include "rudder/buffer/row_numbering.hpp"

namespace rudder::buffer {

/// What a use adds to counts that lose the factor `decay` per step. All age alike, so their order
/// changes by uses alone: instead of shrinking all counts, the weight of a use grows, and all are
/// scaled down together long before the weight overflows.
class AgedWeight {
public:
    explicit AgedWeight(double decay) : growth_(1 / decay) {}

    /// Another decay from now on.
    void set_decay(double decay) noexcept { growth_ = 1 / decay; }
    /// A step passes. The result is what all counts are to be multiplied by: 1 nearly always.
    [[nodiscard]] double step() noexcept {
        constexpr double limit = 0x1p+400;
        constexpr double factor = 0x1p-400;
        weight_ *= growth_;
        if (weight_ < limit) return 1;
        weight_ *= factor;
        return factor;
    }
    [[nodiscard]] double now() const noexcept { return weight_; }

private:
    double growth_;
    double weight_ = 1;
};

/// Such counts, by row.
class AgedCounts {
public:
    explicit AgedCounts(double decay) : weight_(decay) {}

    /// Another decay from now on.
    void set_decay(double decay) noexcept { weight_.set_decay(decay); }
    void know(RowKey rows) {
        if (rows > counts_.size()) counts_.resize(rows, 0);
    }
    /// A step passes. The result is what all counts were multiplied by: whoever keeps copies
    /// multiplies them, too.
    double step() {
        const double factor = weight_.step();
        if (factor != 1) {
            for (double& count : counts_)
                count *= factor;
        }
        return factor;
    }
    void use(RowKey row) noexcept { counts_[row] += weight_.now(); }
    /// It will be looked at or used soon.
    void ask(RowKey row) const noexcept { __builtin_prefetch(&counts_[row], 1); }
    /// The count, in units of its own: to be compared with others of the same step only.
    [[nodiscard]] double operator[](RowKey row) const noexcept { return counts_[row]; }
    /// What one use now adds.
    [[nodiscard]] double weight() const noexcept { return weight_.now(); }
    [[nodiscard]] std::size_t size() const noexcept { return counts_.size(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return counts_.capacity() * sizeof(double);
    }

private:
    HugeVector<double> counts_;  ///< by row
    AgedWeight weight_;
};

}  // namespace rudder::buffer
