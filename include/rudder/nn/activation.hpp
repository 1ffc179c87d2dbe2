// Activations between layers, with dropout, and what flows back through both.
#pragma once

#include <span>

#include "rudder/nn/aggregate.hpp"
#include "rudder/nn/dropout.hpp"
#include "rudder/nn/matmul.hpp"

namespace rudder::nn {

enum class Activation : unsigned char { rectifier, exponential };

/// x = activation of x, then dropout; row r belongs to vertices[r]. The exponential unit never
/// gives exactly zero (the least normal number instead), so that zero means dropped.
void activate(const Matrix& rows, Activation activation, const Dropout& dropout,
              std::span<const VertexId> vertices);

/// out = what flows back of `gradient`; `active` are the rows after activation and dropout. `out`
/// may be either.
void undo_activation(const ConstMatrix& gradient, Activation activation, const ActiveRows& active,
                     const Matrix& out);

}  // namespace rudder::nn
