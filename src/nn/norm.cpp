#include "rudder/nn/norm.hpp"

#include <cmath>

namespace rudder::nn {

float inverse_root(double variance) noexcept {
    return static_cast<float>(1 / std::sqrt(variance + static_cast<double>(norm_epsilon)));
}

void normalise_rows(const Matrix& x, std::span<const float> gain, std::span<const float> shift,
                    const Matrix& normal, float* spreads) noexcept {
    const auto columns = static_cast<double>(x.columns);
    for (std::size_t r = 0; r < x.rows; ++r) {
        float* row = x.row(r);
        double sum = 0;
        for (std::size_t c = 0; c < x.columns; ++c)
            sum += static_cast<double>(row[c]);
        const double mean = sum / columns;
        double squares = 0;
        for (std::size_t c = 0; c < x.columns; ++c) {
            const double off = static_cast<double>(row[c]) - mean;
            squares += off * off;
        }
        const float spread = inverse_root(squares / columns);
        const auto middle = static_cast<float>(mean);
        float* kept = normal.rows == 0 ? nullptr : normal.row(r);
        if (kept != nullptr) spreads[r] = spread;
        for (std::size_t c = 0; c < x.columns; ++c) {
            const float value = (row[c] - middle) * spread;
            if (kept != nullptr) kept[c] = value;
            row[c] = value * gain[c] + shift[c];
        }
    }
}

void undo_normalise_rows(const Matrix& gradient, std::span<const float> gain,
                         const ConstMatrix& normal, const float* spreads) noexcept {
    const auto columns = static_cast<double>(gradient.columns);
    for (std::size_t r = 0; r < gradient.rows; ++r) {
        float* row = gradient.row(r);
        const float* kept = normal.row(r);
        double sum = 0;
        double product = 0;
        for (std::size_t c = 0; c < gradient.columns; ++c) {
            row[c] *= gain[c];
            sum += static_cast<double>(row[c]);
            product += static_cast<double>(row[c]) * static_cast<double>(kept[c]);
        }
        const auto mean = static_cast<float>(sum / columns);
        const auto mean_product = static_cast<float>(product / columns);
        for (std::size_t c = 0; c < gradient.columns; ++c)
            row[c] = (row[c] - mean - kept[c] * mean_product) * spreads[r];
    }
}

void normalise_columns(const Matrix& x, const float* mean, const float* spread,
                       std::span<const float> gain, std::span<const float> shift,
                       const Matrix& normal) noexcept {
    for (std::size_t r = 0; r < x.rows; ++r) {
        float* row = x.row(r);
        float* kept = normal.rows == 0 ? nullptr : normal.row(r);
        for (std::size_t c = 0; c < x.columns; ++c) {
            const float value = (row[c] - mean[c]) * spread[c];
            if (kept != nullptr) kept[c] = value;
            row[c] = value * gain[c] + shift[c];
        }
    }
}

void undo_normalise_columns(const Matrix& gradient, std::span<const float> gain,
                            const ConstMatrix& normal, const float* spread,
                            const float* mean_gradient, const float* mean_product) noexcept {
    for (std::size_t r = 0; r < gradient.rows; ++r) {
        float* row = gradient.row(r);
        const float* kept = normal.row(r);
        for (std::size_t c = 0; c < gradient.columns; ++c) {
            row[c] =
                (row[c] - mean_gradient[c] - kept[c] * mean_product[c]) * (gain[c] * spread[c]);
        }
    }
}

}  // namespace rudder::nn
