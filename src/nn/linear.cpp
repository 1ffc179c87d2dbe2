#include "rudder/nn/linear.hpp"

#include <algorithm>

#include "rudder/core/parallel.hpp"

namespace rudder::nn {

namespace {

constexpr std::size_t least_lane = 128;
constexpr std::size_t most_lane = 1024;
constexpr std::size_t wanted_lanes = 16;

/// Few lanes cost little memory and adding; many keep many cores busy. From the rows alone.
std::size_t lane_size(std::size_t rows) noexcept {
    const std::size_t even = (rows / wanted_lanes + least_lane - 1) / least_lane * least_lane;
    return std::clamp(even, least_lane, most_lane);
}

}  // namespace

Lanes::Lanes(std::size_t row_count) noexcept
    : rows(row_count), size(lane_size(row_count)), count(chunk_count(row_count, size)) {}

std::size_t Lanes::most(std::size_t rows) noexcept {
    return std::min(chunk_count(rows, least_lane),
                    std::max(wanted_lanes + 1, chunk_count(rows, most_lane)));
}

void LaneSums::add(std::size_t lane, bool first, const ConstMatrix& gradient,
                   const ConstMatrix& inputs) const {
    const Matrix sums{weights(lane), outputs_, inputs_, aligned_columns(inputs_)};
    multiply_first_transposed(gradient, inputs, sums, first ? Accumulate::no : Accumulate::yes);
    float* bias_sums = bias(lane);
    if (first) std::fill_n(bias_sums, outputs_, 0.F);
    for (std::size_t r = 0; r < gradient.rows; ++r) {
        const float* row = gradient.row(r);
        for (std::size_t c = 0; c < outputs_; ++c)
            bias_sums[c] += row[c];
    }
}

void LaneSums::finish(std::span<const Stretch> stretches, float* bias_gradient,
                      Groups groups) const {
    const std::size_t stride = aligned_columns(inputs_);
    const auto sum_into = [&](float* out, std::size_t count, std::size_t offset) {
        std::copy_n(memory_ + offset, count, out);
        for (std::size_t lane = 1; lane < lanes_.count; ++lane) {
            const float* from = weights(lane) + offset;
            for (std::size_t c = 0; c < count; ++c)
                out[c] += from[c];
        }
    };
    constexpr std::size_t outputs_per_chunk = 8;
    parallel_chunks(outputs_, outputs_per_chunk, [&](const Chunk& chunk) {
        for (std::size_t o = chunk.begin; o < chunk.end; ++o) {
            if (o % groups.padded >= groups.used) continue;
            const std::size_t place = o / groups.padded * groups.used + o % groups.padded;
            for (const Stretch& stretch : stretches) {
                sum_into(stretch.gradient + place * stretch.columns, stretch.columns,
                         o * stride + stretch.first);
            }
        }
    });
    if (bias_gradient == nullptr) return;
    if (groups.used == groups.padded) return sum_into(bias_gradient, outputs_, outputs_ * stride);
    for (std::size_t g = 0; g * groups.padded < outputs_; ++g) {
        sum_into(bias_gradient + g * groups.used, groups.used,
                 outputs_ * stride + g * groups.padded);
    }
}

void LaneColumns::clear(std::size_t index) const noexcept {
    std::fill_n(lane(index), columns_, 0.F);
}

void LaneColumns::add(std::size_t index, const ConstMatrix& rows) const noexcept {
    float* __restrict sums = lane(index);
    for (std::size_t r = 0; r < rows.rows; ++r) {
        const float* row = rows.row(r);
        for (std::size_t c = 0; c < columns_; ++c)
            sums[c] += row[c];
    }
}

void LaneColumns::add_products(std::size_t index, const ConstMatrix& rows,
                               const ConstMatrix& others) const noexcept {
    float* __restrict sums = lane(index);
    for (std::size_t r = 0; r < rows.rows; ++r) {
        const float* row = rows.row(r);
        const float* other = others.row(r);
        for (std::size_t c = 0; c < columns_; ++c)
            sums[c] += row[c] * other[c];
    }
}

void LaneColumns::finish(float* out) const noexcept {
    std::fill_n(out, columns_, 0.F);
    for (std::size_t l = 0; l < lanes_; ++l) {
        const float* sums = lane(l);
        for (std::size_t c = 0; c < columns_; ++c)
            out[c] += sums[c];
    }
}

}  // namespace rudder::nn
