// Compiled without contraction of products and sums: see CMakeLists.txt of the layer.
#include "transformer.hpp"

#include <algorithm>
#include <cmath>

#include "rudder/core/check.hpp"

#include "exact_math.hpp"

namespace rudder::steer {

namespace {

HugeVector<float> padded_row(std::span<const float> row) {
    HugeVector<float> padded(in_panels(row.size()));
    std::ranges::copy(row, padded.begin());
    return padded;
}

/// Cosine and sine of position * base^(-2i/d), by position and pair.
std::vector<float> rotation_table(const ModelShape& shape) {
    const std::size_t pairs = shape.head() / 2;
    std::vector<double> speeds(pairs);
    for (std::size_t i = 0; i < pairs; ++i) {
        speeds[i] = exact_exp(-exact_log(shape.rope_base) * (2.0 * static_cast<double>(i)) /
                              static_cast<double>(shape.head()));
    }
    std::vector<float> table;
    table.reserve(shape.context * pairs * 2);
    for (std::size_t position = 0; position < shape.context; ++position) {
        for (const double speed : speeds) {
            const SineCosine turn = exact_sine(static_cast<double>(position) * speed);
            table.push_back(static_cast<float>(turn.cosine));
            table.push_back(static_cast<float>(turn.sine));
        }
    }
    return table;
}

}  // namespace

PanelMatrix::PanelMatrix(std::span<const float> rows, std::size_t depth)
    : panels(in_panels(rows.size() / depth) * depth), outputs(rows.size() / depth), inputs(depth) {
    for (std::size_t o = 0; o < outputs; ++o) {
        float* to = panels.data() + o / panel_lanes * panel_lanes * inputs + o % panel_lanes;
        for (std::size_t i = 0; i < inputs; ++i)
            to[i * panel_lanes] = rows[o * inputs + i];
    }
}

Transformer::Transformer(const SteeringModel& model, KernelPath path)
    : shape_(model.shape),
      kernels_(&model_kernels(path)),
      embedding_(model.shape.vocabulary * in_panels(model.shape.width)),
      output_norm_(padded_row(model.output_norm)),
      rotations_(rotation_table(model.shape)) {
    const std::size_t width = shape_.width;
    for (std::size_t token = 0; token < shape_.vocabulary; ++token) {
        std::ranges::copy(
            std::span(model.embedding).subspan(token * width, width),
            embedding_.begin() + static_cast<std::ptrdiff_t>(token * in_panels(width)));
    }
    for (const LayerWeights& w : model.layers) {
        layers_.push_back({padded_row(w.attn_norm),
                           padded_row(w.ffn_norm),
                           {w.query, width},
                           {w.key, width},
                           {w.value, width},
                           {w.attn_output, width},
                           {w.gate, width},
                           {w.up, width},
                           {w.down, shape_.hidden}});
    }
}

Reading::Reading(const Transformer& transformer, std::size_t block)
    : of_(&transformer),
      block_(block),
      width_(in_panels(transformer.shape_.width)),
      hidden_(in_panels(transformer.shape_.hidden)),
      context_(in_panels(transformer.shape_.context)) {
    const ModelShape& shape = of_->shape_;
    const std::size_t heads = shape.layers * shape.kv_heads;
    keys_.resize(heads * context_ * shape.head());
    values_.resize(heads * context_ * in_panels(shape.head()));
    for (HugeVector<float>* rows : {&x_, &normed_, &query_, &mixed_, &key_, &value_})
        rows->resize(block_ * width_);
    gate_.resize(block_ * hidden_);
    up_.resize(block_ * hidden_);
    scores_.resize(block_ * context_);
    last_.resize(width_);
    tokens_.reserve(shape.context);
}

float* Reading::keys(std::size_t layer, std::size_t kv_head) {
    const ModelShape& shape = of_->shape_;
    return keys_.data() + (layer * shape.kv_heads + kv_head) * context_ * shape.head();
}

float* Reading::values(std::size_t layer, std::size_t kv_head) {
    const ModelShape& shape = of_->shape_;
    return values_.data() + (layer * shape.kv_heads + kv_head) * context_ * in_panels(shape.head());
}

void Reading::keep(std::size_t count) {
    RUDDER_CHECK(count <= tokens_.size());
    tokens_.resize(count);
}

bool Reading::read(std::span<const TokenId> tokens, FunctionRef<bool()> go_on) {
    RUDDER_CHECK(tokens_.size() + tokens.size() <= of_->shape_.context);
    while (!tokens.empty()) {
        if (!go_on()) return false;
        const std::size_t count = std::min(block_, tokens.size());
        read_block(tokens.first(count));
        tokens = tokens.subspan(count);
    }
    return true;
}

void Reading::multiply(const PanelMatrix& matrix, const HugeVector<float>& x, std::size_t x_stride,
                       HugeVector<float>& y, std::size_t y_stride, std::size_t count) const {
    of_->kernels_->product({x.data(), x_stride, count, matrix.panels.data(),
                            matrix.inputs * panel_lanes, matrix.outputs, matrix.inputs, y.data(),
                            y_stride});
}

/// Turns neighbouring pairs of every head by the position.
void Reading::rotate(float* row, std::size_t heads, std::size_t position) const {
    const std::size_t head = of_->shape_.head();
    const float* turns = of_->rotations_.data() + position * head;
    for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t i = 0; i < head; i += 2) {
            const float a = row[h * head + i];
            const float b = row[h * head + i + 1];
            row[h * head + i] = a * turns[i] - b * turns[i + 1];
            row[h * head + i + 1] = a * turns[i + 1] + b * turns[i];
        }
    }
}

/// Puts the block's keys and values behind those before.
void Reading::remember(std::size_t layer, std::size_t count) {
    const std::size_t head = of_->shape_.head();
    const std::size_t first = tokens_.size();
    for (std::size_t kv = 0; kv < of_->shape_.kv_heads; ++kv) {
        float* to_keys = keys(layer, kv);
        float* to_values = values(layer, kv);
        for (std::size_t t = 0; t < count; ++t) {
            const std::size_t at = first + t;
            const float* key = key_.data() + t * width_ + kv * head;
            const float* value = value_.data() + t * width_ + kv * head;
            float* panel = to_keys + at / panel_lanes * panel_lanes * head + at % panel_lanes;
            for (std::size_t i = 0; i < head; ++i) {
                panel[i * panel_lanes] = key[i];
                to_values[i / panel_lanes * context_ * panel_lanes + at * panel_lanes +
                          i % panel_lanes] = value[i];
            }
        }
    }
}

void Reading::attend(std::size_t layer, std::size_t count) {
    const ModelShape& shape = of_->shape_;
    const Transformer::Layer& w = of_->layers_[layer];
    const ModelKernels& kernels = *of_->kernels_;
    multiply(w.query, normed_, width_, query_, width_, count);
    multiply(w.key, normed_, width_, key_, width_, count);
    multiply(w.value, normed_, width_, value_, width_, count);
    const std::size_t first = tokens_.size();
    for (std::size_t t = 0; t < count; ++t) {
        rotate(query_.data() + t * width_, shape.heads, first + t);
        rotate(key_.data() + t * width_, shape.kv_heads, first + t);
    }
    remember(layer, count);
    const std::size_t head = shape.head();
    const std::size_t seen = first + count;
    const float scale = 1.0F / std::sqrt(static_cast<float>(head));
    for (std::size_t h = 0; h < shape.heads; ++h) {
        const std::size_t kv = h / (shape.heads / shape.kv_heads);
        kernels.product({query_.data() + h * head, width_, count, keys(layer, kv),
                         head * panel_lanes, in_panels(seen), head, scores_.data(), context_});
        for (std::size_t t = 0; t < count; ++t) {
            kernels.soften(scores_.data() + t * context_, first + t + 1, in_panels(seen), scale);
        }
        kernels.product({scores_.data(), context_, count, values(layer, kv), context_ * panel_lanes,
                         head, seen, mixed_.data() + h * head, width_});
    }
    multiply(w.attn_output, mixed_, width_, query_, width_, count);
}

void Reading::feed_forward(std::size_t layer, std::size_t count) {
    const Transformer::Layer& w = of_->layers_[layer];
    multiply(w.gate, normed_, width_, gate_, hidden_, count);
    multiply(w.up, normed_, width_, up_, hidden_, count);
    of_->kernels_->gate(gate_.data(), up_.data(), count * hidden_);
    multiply(w.down, gate_, hidden_, query_, width_, count);
}

void Reading::add_rows(const HugeVector<float>& rows, std::size_t stride, std::size_t count) {
    for (std::size_t t = 0; t < count; ++t) {
        for (std::size_t i = 0; i < of_->shape_.width; ++i)
            x_[t * width_ + i] += rows[t * stride + i];
    }
}

void Reading::read_block(std::span<const TokenId> tokens) {
    const Transformer& model = *of_;
    const std::size_t count = tokens.size();
    const auto norm = [&](const HugeVector<float>& weights) {
        for (std::size_t t = 0; t < count; ++t) {
            model.kernels_->normalise(x_.data() + t * width_, weights.data(),
                                      normed_.data() + t * width_, model.shape_.width,
                                      static_cast<float>(model.shape_.norm_eps));
        }
    };
    for (std::size_t t = 0; t < count; ++t) {
        RUDDER_CHECK(tokens[t] < model.shape_.vocabulary);
        std::copy_n(model.embedding_.data() + tokens[t] * width_, width_, x_.data() + t * width_);
    }
    for (std::size_t layer = 0; layer < model.layers_.size(); ++layer) {
        norm(model.layers_[layer].attn_norm);
        attend(layer, count);
        add_rows(query_, width_, count);
        norm(model.layers_[layer].ffn_norm);
        feed_forward(layer, count);
        add_rows(query_, width_, count);
    }
    norm(model.output_norm_);
    std::copy_n(normed_.data() + (count - 1) * width_, width_, last_.begin());
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

void Reading::logits(std::span<const TokenId> next, std::span<float> out) const {
    RUDDER_CHECK(next.size() == out.size());
    for (std::size_t i = 0; i < next.size(); ++i) {
        RUDDER_CHECK(next[i] < of_->shape_.vocabulary);
        out[i] =
            of_->kernels_->dot(of_->embedding_.data() + next[i] * width_, last_.data(), width_);
    }
}

}  // namespace rudder::steer
