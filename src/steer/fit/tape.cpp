#include "tape.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rudder/core/check.hpp"

#include "small_product.hpp"

namespace rudder::steer {

namespace {

constexpr float batch_epsilon = 1e-5F;

float sigmoid(float x) {
    return 1 / (1 + std::exp(-x));
}

}  // namespace

std::size_t TapeWeights::add(const std::string& name, std::size_t rows, std::size_t columns,
                             float fill) {
    const std::size_t offset = values.size();
    values.resize(offset + rows * columns, fill);
    gradient.resize(values.size(), 0);
    list.push_back({offset, rows * columns, columns != 1});
    names.push_back(name);
    return offset;
}

void TapeWeights::draw(std::size_t offset, std::size_t count, double bound, Draws& draws) {
    for (std::size_t i = 0; i < count; ++i)
        values[offset + i] = static_cast<float>((2 * draws.uniform() - 1) * bound);
}

Tape::Var Tape::make(std::size_t rows, std::size_t columns) {
    TapeValue& value = values_.emplace_back();
    value.rows = rows;
    value.columns = columns;
    value.v.resize(rows * columns);
    value.g.resize(training_ ? rows * columns : 0);
    return &value;
}

Tape::Var Tape::input(std::span<const float> values, std::size_t rows, std::size_t columns) {
    Var out = make(rows, columns);
    std::ranges::copy(values, out->v.begin());
    return out;
}

Tape::Var Tape::constant(std::size_t rows, std::size_t columns, float value) {
    Var out = make(rows, columns);
    std::ranges::fill(out->v, value);
    return out;
}

Tape::Var Tape::linear(Var x, std::size_t weights, std::size_t outputs) {
    Var out = make(x->rows, outputs);
    const std::size_t inputs = x->columns;
    const float* w = weights_.values.data() + weights;
    std::vector<float> transposed(inputs * outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
        for (std::size_t i = 0; i < inputs; ++i)
            transposed[i * outputs + o] = w[o * inputs + i];
    }
    add_product(x->v.data(), inputs, 1, transposed.data(), out->v.data(), x->rows, outputs, inputs);
    back_.emplace_back([this, x, out, weights, inputs, outputs] {
        add_product(out->g.data(), 1, outputs, x->v.data(), weights_.gradient.data() + weights,
                    outputs, inputs, x->rows);
        add_product(out->g.data(), outputs, 1, weights_.values.data() + weights, x->g.data(),
                    x->rows, inputs, outputs);
    });
    return out;
}

Tape::Var Tape::add_bias(Var x, std::size_t bias) {
    Var out = make(x->rows, x->columns);
    for (std::size_t i = 0; i < x->v.size(); ++i)
        out->v[i] = x->v[i] + weights_.values[bias + i % x->columns];
    back_.emplace_back([this, x, out, bias] {
        for (std::size_t i = 0; i < x->v.size(); ++i) {
            x->g[i] += out->g[i];
            weights_.gradient[bias + i % x->columns] += out->g[i];
        }
    });
    return out;
}

namespace {

/// Mean and spread of the columns over some rows.
struct ColumnMoments {
    std::vector<float> mean;
    std::vector<float> variance;

    ColumnMoments(const TapeValue& x, const RowRange& rows)
        : mean(x.columns, 0), variance(x.columns, 0) {
        const auto count = static_cast<float>(rows.end - rows.begin);
        for (std::size_t r = rows.begin; r < rows.end; ++r) {
            for (std::size_t c = 0; c < x.columns; ++c)
                mean[c] += x.row(r)[c] / count;
        }
        for (std::size_t r = rows.begin; r < rows.end; ++r) {
            for (std::size_t c = 0; c < x.columns; ++c) {
                const float d = x.row(r)[c] - mean[c];
                variance[c] += d * d / count;
            }
        }
    }
};

void remember(TapeNorm& norm, const ColumnMoments& seen, std::size_t rows) {
    const auto count = static_cast<float>(rows);
    for (std::size_t c = 0; c < norm.columns; ++c) {
        const float unbiased = rows > 1 ? seen.variance[c] * count / (count - 1) : seen.variance[c];
        norm.mean[c] += norm.momentum * (seen.mean[c] - norm.mean[c]);
        norm.variance[c] += norm.momentum * (unbiased - norm.variance[c]);
    }
}

}  // namespace

Tape::Var Tape::norm(Var x, TapeNorm& norm, std::size_t group) {
    if (!training_) return norm_by_memory(x, norm);
    const std::size_t size = group == 0 ? x->rows : std::min(group, x->rows);
    Var out = make(x->rows, x->columns);
    // The rows left over join the last group.
    const std::size_t groups = std::max<std::size_t>(1, x->rows / size);
    for (std::size_t g = 0; g < groups; ++g)
        norm_group(x, out, norm, {g * size, g + 1 == groups ? x->rows : (g + 1) * size});
    return out;
}

Tape::Var Tape::norm_by_memory(Var x, const TapeNorm& norm) {
    Var out = make(x->rows, x->columns);
    for (std::size_t i = 0; i < x->v.size(); ++i) {
        const std::size_t c = i % x->columns;
        const float scaled = (x->v[i] - norm.mean[c]) / std::sqrt(norm.variance[c] + batch_epsilon);
        out->v[i] = scaled * weights_.values[norm.factor + c] + weights_.values[norm.shift + c];
    }
    return out;
}

/// The rows of one group, normalised by their own statistics.
void Tape::norm_group(Var x, Var out, TapeNorm& norm, const RowRange& rows) {
    const std::size_t columns = x->columns;
    const ColumnMoments seen(*x, rows);
    remember(norm, seen, rows.end - rows.begin);
    std::vector<float> spread(columns);
    for (std::size_t c = 0; c < columns; ++c)
        spread[c] = std::sqrt(seen.variance[c] + batch_epsilon);
    const std::size_t first = rows.begin * columns;
    const std::size_t last = rows.end * columns;
    std::vector<float> scaled(last - first);  // before factor and shift
    for (std::size_t i = first; i < last; ++i) {
        const std::size_t c = i % columns;
        scaled[i - first] = (x->v[i] - seen.mean[c]) / spread[c];
        out->v[i] =
            scaled[i - first] * weights_.values[norm.factor + c] + weights_.values[norm.shift + c];
    }
    back_.emplace_back([this, x, out, first, last, columns, spread = std::move(spread),
                        scaled = std::move(scaled), factor = norm.factor, shift = norm.shift] {
        const std::size_t group = (last - first) / columns;
        const auto count = static_cast<float>(group);
        std::vector<float> sum(columns, 0);
        std::vector<float> along(columns, 0);
        for (std::size_t i = first; i < last; ++i) {
            sum[i % columns] += out->g[i];
            along[i % columns] += out->g[i] * scaled[i - first];
        }
        for (std::size_t c = 0; c < columns; ++c) {
            weights_.gradient[factor + c] += along[c];
            weights_.gradient[shift + c] += sum[c];
        }
        for (std::size_t i = first; i < last; ++i) {
            const std::size_t c = i % columns;
            x->g[i] += weights_.values[factor + c] / spread[c] *
                       (out->g[i] - sum[c] / count - scaled[i - first] * along[c] / count);
        }
    });
}

Tape::Var Tape::relu(Var x) {
    Var out = make(x->rows, x->columns);
    for (std::size_t i = 0; i < x->v.size(); ++i)
        out->v[i] = std::max(x->v[i], 0.0F);
    back_.emplace_back([x, out] {
        for (std::size_t i = 0; i < x->v.size(); ++i)
            x->g[i] += x->v[i] > 0 ? out->g[i] : 0;
    });
    return out;
}

Tape::Var Tape::dropout(Var x, double share, Draws& draws) {
    if (!training_ || share == 0) return x;
    Var out = make(x->rows, x->columns);
    std::vector<float> kept(x->v.size());
    const auto times = static_cast<float>(1 / (1 - share));
    for (std::size_t i = 0; i < kept.size(); ++i) {
        kept[i] = draws.uniform() < share ? 0 : times;
        out->v[i] = x->v[i] * kept[i];
    }
    back_.emplace_back([x, out, kept = std::move(kept)] {
        for (std::size_t i = 0; i < kept.size(); ++i)
            x->g[i] += out->g[i] * kept[i];
    });
    return out;
}

Tape::Var Tape::gated(Var x) {
    const std::size_t half = x->columns / 2;
    Var out = make(x->rows, half);
    for (std::size_t r = 0; r < x->rows; ++r) {
        for (std::size_t c = 0; c < half; ++c)
            out->v[r * half + c] = x->row(r)[c] * sigmoid(x->row(r)[half + c]);
    }
    back_.emplace_back([x, out, half] {
        for (std::size_t r = 0; r < x->rows; ++r) {
            for (std::size_t c = 0; c < half; ++c) {
                const float open = sigmoid(x->row(r)[half + c]);
                const float given = out->g[r * half + c];
                x->g[r * 2 * half + c] += given * open;
                x->g[r * 2 * half + half + c] += given * x->row(r)[c] * open * (1 - open);
            }
        }
    });
    return out;
}

Tape::Var Tape::sum(Var a, Var b, float times) {
    Var out = make(a->rows, a->columns);
    for (std::size_t i = 0; i < a->v.size(); ++i)
        out->v[i] = (a->v[i] + b->v[i]) * times;
    back_.emplace_back([a, b, out, times] {
        for (std::size_t i = 0; i < a->v.size(); ++i) {
            a->g[i] += out->g[i] * times;
            b->g[i] += out->g[i] * times;
        }
    });
    return out;
}

Tape::Var Tape::product(Var a, Var b) {
    Var out = make(a->rows, a->columns);
    for (std::size_t i = 0; i < a->v.size(); ++i)
        out->v[i] = a->v[i] * b->v[i];
    back_.emplace_back([a, b, out] {
        for (std::size_t i = 0; i < a->v.size(); ++i) {
            a->g[i] += out->g[i] * b->v[i];
            b->g[i] += out->g[i] * a->v[i];
        }
    });
    return out;
}

Tape::Var Tape::slice(Var x, std::size_t from, std::size_t count) {
    Var out = make(x->rows, count);
    for (std::size_t r = 0; r < x->rows; ++r)
        std::copy_n(x->row(r) + from, count, out->v.data() + r * count);
    back_.emplace_back([x, out, from, count] {
        for (std::size_t r = 0; r < x->rows; ++r) {
            for (std::size_t c = 0; c < count; ++c)
                x->g[r * x->columns + from + c] += out->g[r * count + c];
        }
    });
    return out;
}

Tape::Var Tape::sparsemax(Var x) {
    Var out = make(x->rows, x->columns);
    std::vector<float> sorted(x->columns);
    for (std::size_t r = 0; r < x->rows; ++r) {
        std::copy_n(x->row(r), x->columns, sorted.begin());
        std::ranges::sort(sorted, std::greater<>());
        float total = 0;
        float threshold = 0;
        for (std::size_t k = 0; k < sorted.size(); ++k) {
            total += sorted[k];
            const float t = (total - 1) / static_cast<float>(k + 1);
            if (sorted[k] <= t) break;
            threshold = t;
        }
        for (std::size_t c = 0; c < x->columns; ++c)
            out->v[r * x->columns + c] = std::max(x->row(r)[c] - threshold, 0.0F);
    }
    back_.emplace_back([x, out] {
        // Inside its support it is a shift by the mean.
        for (std::size_t r = 0; r < x->rows; ++r) {
            float mean = 0;
            float support = 0;
            for (std::size_t i = r * x->columns; i < (r + 1) * x->columns; ++i) {
                if (out->v[i] <= 0) continue;
                mean += out->g[i];
                ++support;
            }
            for (std::size_t i = r * x->columns; i < (r + 1) * x->columns; ++i) {
                if (out->v[i] > 0) x->g[i] += out->g[i] - mean / support;
            }
        }
    });
    return out;
}

Tape::Var Tape::faded(Var a, float number, Var b) {
    Var out = make(a->rows, a->columns);
    for (std::size_t i = 0; i < a->v.size(); ++i)
        out->v[i] = a->v[i] * (number - b->v[i]);
    back_.emplace_back([a, b, out, number] {
        for (std::size_t i = 0; i < a->v.size(); ++i) {
            a->g[i] += out->g[i] * (number - b->v[i]);
            b->g[i] -= out->g[i] * a->v[i];
        }
    });
    return out;
}

double Tape::logistic(Var logits, std::span<const std::uint8_t> y, std::span<const float> weight) {
    const float all = std::max(1e-9F, std::accumulate(weight.begin(), weight.end(), 0.0F));
    double loss = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const float z = logits->v[i];
        const float label = y[i];
        loss += static_cast<double>(
            weight[i] / all * (std::max(z, 0.0F) - z * label + std::log1p(std::exp(-std::abs(z)))));
        if (training_) logits->g[i] += weight[i] / all * (sigmoid(z) - label);
    }
    return loss;
}

double Tape::entropy(Var shares, double times) {
    constexpr float tiny = 1e-15F;
    const auto part = static_cast<float>(times / static_cast<double>(shares->rows));
    double loss = 0;
    for (std::size_t i = 0; i < shares->v.size(); ++i) {
        const float m = shares->v[i];
        loss -= static_cast<double>(part * m * std::log(m + tiny));
        if (training_ && m > 0) shares->g[i] -= part * (std::log(m + tiny) + m / (m + tiny));
    }
    return loss;
}

void Tape::backward() {
    RUDDER_CHECK(training_);
    for (; !back_.empty(); back_.pop_back())
        back_.back()();
}

}  // namespace rudder::steer
