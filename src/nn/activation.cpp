#include "rudder/nn/activation.hpp"

#include <limits>
#include <vector>

#include "vector_exp.hpp"

namespace rudder::nn {

namespace {

/// max(0, x) + min(0, e^x - 1). Rows have room for whole vectors, whose last elements are nobody's.
struct ExponentialUnits {
    Matrix rows;

    RUDDER_INLINE void run() const noexcept {
        const Vector zero{};
        const Vector least = zero + std::numeric_limits<float>::min();
        for (std::size_t r = 0; r < rows.rows; ++r) {
            float* row = rows.row(r);
            for (std::size_t c = 0; c < rows.columns; c += 16) {
                LooseVector& place = *reinterpret_cast<LooseVector*>(row + c);
                const Vector x = place;
                Vector below = x;
                exp_in_place(below);
                below -= 1.F;
                Vector y = x > zero ? x : below;
                y = y == zero ? least : y;
                place = y;
            }
        }
    }
};

struct UndoExponentialUnits {
    ConstMatrix gradient;
    ActiveRows active;
    Matrix out;

    RUDDER_INLINE void run() const noexcept {
        for (std::size_t r = 0; r < out.rows; ++r) {
            const float* from = gradient.row(r);
            const float* value = active.data + r * active.stride;
            float* to = out.row(r);
            for (std::size_t c = 0; c < out.columns; ++c) {
                // The slope below zero is e^x = value / scale + 1, times the scale of what is kept.
                const float slope = value[c] > 0.F ? active.scale : value[c] + active.scale;
                to[c] = value[c] == 0.F ? 0.F : from[c] * slope;
            }
        }
    }
};

}  // namespace

void activate(const Matrix& rows, Activation activation, const Dropout& dropout,
              std::span<const VertexId> vertices) {
    if (activation == Activation::rectifier) {
        thread_local std::vector<float> none;
        if (none.size() < rows.columns) none.resize(rows.columns, 0.F);
        bias_rectify_drop(rows, {none.data(), rows.columns}, dropout, vertices);
        return;
    }
    run_kernel(ExponentialUnits{rows});
    if (dropout.drops()) drop(rows, dropout, vertices, rows);
}

void undo_activation(const ConstMatrix& gradient, Activation activation, const ActiveRows& active,
                     const Matrix& out) {
    if (activation == Activation::exponential) {
        run_kernel(UndoExponentialUnits{gradient, active, out});
        return;
    }
    for (std::size_t r = 0; r < out.rows; ++r) {
        const float* value = active.data + r * active.stride;
        for (std::size_t c = 0; c < out.columns; ++c)
            out.row(r)[c] = value[c] > 0.F ? gradient.row(r)[c] * active.scale : 0.F;
    }
}

}  // namespace rudder::nn
