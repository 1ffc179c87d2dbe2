#include "heads.hpp"

#include <algorithm>

namespace rudder::nn {

void pack_heads(const Heads& heads, std::span<const float> from, const Matrix& out) noexcept {
    const float* next = from.data();
    for (std::size_t row = 0; row < out.rows; ++row) {
        const std::size_t column = row % heads.padded();
        if (column >= heads.columns) {
            std::fill_n(out.row(row), out.columns, 0.F);
            continue;
        }
        std::copy_n(next, out.columns, out.row(row));
        next += out.columns;
    }
}

void unpack_heads(const Heads& heads, const float* from, float* out) noexcept {
    for (std::size_t h = 0; h < heads.count; ++h)
        std::copy_n(from + h * heads.padded(), heads.columns, out + h * heads.columns);
}

void join_heads(const Heads& heads, HeadsBecome become, const ConstMatrix& sums,
                const Matrix& out) noexcept {
    const float share = 1.F / static_cast<float>(heads.count);
    for (std::size_t r = 0; r < out.rows; ++r) {
        const float* from = sums.row(r);
        float* row = out.row(r);
        if (become == HeadsBecome::columns) {
            unpack_heads(heads, from, row);
            continue;
        }
        std::copy_n(from, heads.columns, row);
        for (std::size_t h = 1; h < heads.count; ++h) {
            for (std::size_t c = 0; c < heads.columns; ++c)
                row[c] += from[h * heads.padded() + c];
        }
        for (std::size_t c = 0; c < heads.columns; ++c)
            row[c] *= share;
    }
}

void part_heads(const Heads& heads, HeadsBecome become, const ConstMatrix& gradient,
                const Matrix& out) noexcept {
    const bool mean = become == HeadsBecome::mean;
    const float share = mean ? 1.F / static_cast<float>(heads.count) : 1.F;
    for (std::size_t r = 0; r < out.rows; ++r) {
        for (std::size_t h = 0; h < heads.count; ++h) {
            const float* from = gradient.row(r) + (mean ? 0 : h * heads.columns);
            float* row = out.row(r) + h * heads.padded();
            for (std::size_t c = 0; c < heads.columns; ++c)
                row[c] = from[c] * share;
            std::fill(row + heads.columns, row + heads.padded(), 0.F);
        }
    }
}

void ScoreMap::collapse(const Matrix& out) const noexcept {
    for (std::size_t h = 0; h < heads.count; ++h) {
        std::fill_n(out.row(h), inputs, 0.F);
        for (std::size_t c = h * heads.columns; c < (h + 1) * heads.columns; ++c) {
            for (std::size_t i = 0; i < inputs; ++i)
                out.row(h)[i] += vector[c] * map[c * inputs + i];
        }
    }
}

void ScoreMap::expand(const float* gradient, float* of_map, float* of_vector) const noexcept {
    for (std::size_t c = 0; c < heads.count * heads.columns; ++c) {
        const float* const of_head = gradient + c / heads.columns * inputs;
        double sum = 0;
        for (std::size_t i = 0; i < inputs; ++i) {
            of_map[c * inputs + i] = vector[c] * of_head[i];
            sum += static_cast<double>(map[c * inputs + i]) * static_cast<double>(of_head[i]);
        }
        of_vector[c] = static_cast<float>(sum);
    }
}

}  // namespace rudder::nn
