// Normalisation of hidden layers, by row (layer) or by column (batch), forward and backward.
#pragma once

#include <span>

#include "rudder/nn/matmul.hpp"

namespace rudder::nn {

enum class Norm : unsigned char { none, batch, layer };

/// What is added to variances, lest they be zero.
inline constexpr float norm_epsilon = 1e-5F;

/// One over the root of a variance.
[[nodiscard]] float inverse_root(double variance) noexcept;

/// x = normalised x * gain + shift, each row by its own mean and variance. Where `normal` has rows
/// they get the normalised ones, and spreads[r] one over the root of row r's variance.
void normalise_rows(const Matrix& x, std::span<const float> gain, std::span<const float> shift,
                    const Matrix& normal, float* spreads) noexcept;
/// The gradient of the rows before, from the one after; in place.
void undo_normalise_rows(const Matrix& gradient, std::span<const float> gain,
                         const ConstMatrix& normal, const float* spreads) noexcept;

/// x = (x - mean) * spread * gain + shift, all by column; `normal` as above.
void normalise_columns(const Matrix& x, const float* mean, const float* spread,
                       std::span<const float> gain, std::span<const float> shift,
                       const Matrix& normal) noexcept;
/// The gradient of the rows before: the batch's statistics depend on them, so it takes off the
/// means over the batch of the gradient and of the gradient times the normalised rows; in place.
void undo_normalise_columns(const Matrix& gradient, std::span<const float> gain,
                            const ConstMatrix& normal, const float* spread,
                            const float* mean_gradient, const float* mean_product) noexcept;

}  // namespace rudder::nn
