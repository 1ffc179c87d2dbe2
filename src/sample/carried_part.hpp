// A part's rows with what their entries carry, in the order in which they are drawn from.
#pragma once

#include <cstdint>
#include <span>

#include "rudder/core/array.hpp"
#include "rudder/partition/part.hpp"

#include "message_rows.hpp"
#include "neighbour_source.hpp"

namespace rudder::sample {

/// Views of a part's entries, or where types or times are wanted a copy in which each row is in the
/// order of type, then time (those of equal ones stay as they were). The part must outlive it.
class CarriedPart {
public:
    /// `rows` are the part's, or others, which carry types alone and must outlive it.
    CarriedPart(const partition::Part& part, const RowsView& rows, SourceCarries carries);

    [[nodiscard]] std::span<const LocalId> neighbours() const noexcept { return neighbours_; }
    /// Empty where they are not wanted.
    [[nodiscard]] std::span<const float> weights() const noexcept { return weights_; }
    [[nodiscard]] std::span<const std::int64_t> times() const noexcept { return times_; }
    [[nodiscard]] std::span<const std::uint8_t> types() const noexcept { return types_; }
    [[nodiscard]] std::span<const std::byte> features() const noexcept { return features_; }
    /// Memory of the copy.
    [[nodiscard]] std::uint64_t bytes() const noexcept {
        return own_neighbours_.size() * sizeof(LocalId) + own_weights_.size() * sizeof(float) +
               own_times_.size() * sizeof(std::int64_t) + own_types_.size() + own_features_.size();
    }

private:
    void order(const partition::Part& part, const RowsView& rows, SourceCarries carries);

    Array<LocalId> own_neighbours_;
    Array<float> own_weights_;
    Array<std::int64_t> own_times_;
    Array<std::uint8_t> own_types_;
    Array<std::byte> own_features_;
    std::span<const LocalId> neighbours_;
    std::span<const float> weights_;
    std::span<const std::int64_t> times_;
    std::span<const std::uint8_t> types_;
    std::span<const std::byte> features_;
};

}  // namespace rudder::sample
