#include "pair_head.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

#include "scratch.hpp"

namespace rudder::nn {

namespace {

/// Sums are kept in so many parts, which vectors of any length hold: their bits are one thing.
constexpr std::size_t parts = 16;

template <class Term>
float sum_of(std::size_t count, Term&& term) noexcept {
    std::array<float, parts> sums{};
    std::size_t i = 0;
    for (; i + parts <= count; i += parts) {
        for (std::size_t p = 0; p < parts; ++p)
            sums[p] += term(i + p);
    }
    for (std::size_t p = 0; i < count; ++i, ++p)
        sums[p] += term(i);
    for (std::size_t half = parts / 2; half > 0; half /= 2) {
        for (std::size_t p = 0; p < half; ++p)
            sums[p] += sums[p + half];
    }
    return sums[0];
}

/// log(1 + exp(x)) and its slope, without overflow on either side.
struct Softplus {
    explicit Softplus(float x) noexcept {
        const float e = std::exp(-std::fabs(x));
        value = (x > 0 ? x : 0.F) + std::log1p(e);
        slope = x >= 0 ? 1.F / (1.F + e) : e / (1.F + e);
    }
    float value;
    float slope;
};

double binary_loss(std::span<float> group, float weight) noexcept {
    const float share = weight / static_cast<float>(group.size());
    double loss = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
        const float sign = i == 0 ? -1.F : 1.F;
        const Softplus off(sign * group[i]);
        loss += static_cast<double>(off.value);
        group[i] = sign * off.slope * share;
    }
    return loss * static_cast<double>(share);
}

double softmax_loss(std::span<float> group, float weight) noexcept {
    const float top = *std::ranges::max_element(group);
    const float own = group[0] - top;
    float sum = 0;
    for (float& score : group) {
        score = std::exp(score - top);
        sum += score;
    }
    for (float& score : group)
        score *= weight / sum;
    group[0] -= weight;
    return static_cast<double>(weight) * static_cast<double>(std::log(sum) - own);
}

double bpr_loss(std::span<float> group, float weight) noexcept {
    if (group.size() == 1) {
        group[0] = 0;
        return 0;
    }
    const float share = weight / static_cast<float>(group.size() - 1);
    const float own = group[0];
    double loss = 0;
    float back = 0;
    for (float& score : group.subspan(1)) {
        const Softplus off(score - own);
        loss += static_cast<double>(off.value);
        score = off.slope * share;
        back += score;
    }
    group[0] = -back;
    return loss * static_cast<double>(share);
}

double loss_of(LinkLoss loss, std::span<float> group, float weight) noexcept {
    switch (loss) {
        case LinkLoss::binary:
            return binary_loss(group, weight);
        case LinkLoss::softmax:
            return softmax_loss(group, weight);
        case LinkLoss::bpr:
            break;
    }
    return bpr_loss(group, weight);
}

/// At least so large; what it held is lost if it grows.
template <class T>
void fit_array(Array<T>& memory, std::size_t count) {
    if (memory.size() < count) memory = Array<T>::uninitialised(count + count / 8);
}

}  // namespace

LossSums link_loss(LinkLoss loss, std::uint32_t group, float weight, std::span<float> scores) {
    LossSums sums;
    for (std::size_t first = 0; first < scores.size(); first += group) {
        const std::span<float> one = scores.subspan(first, group);
        for (const float other : one.subspan(1))
            sums.correct += other < one[0] ? 1U : 0U;
        sums.answers += group - 1;
        sums.loss += loss_of(loss, one, weight);
    }
    return sums;
}

Matrix PairHead::hidden_rows(std::size_t first, std::size_t count) noexcept {
    const std::size_t stride = aligned_columns(inputs());
    return {hidden_.data() + first * stride, count, options_.width, stride};
}

float* PairHead::input_back(std::size_t pair) noexcept {
    return hidden_.data() + pair * aligned_columns(inputs());
}

/// Of pairs from `first` on: the products of their rows, times the relation's weights where those
/// count, and what else the network reads.
void PairHead::fill_inputs(const ConstMatrix& rows, const SeedPairs& pairs,
                           const PairWeights& weights, std::size_t first,
                           const Matrix& out) const noexcept {
    const std::size_t width = options_.width;
    for (std::size_t i = 0; i < out.rows; ++i) {
        const float* u = rows.row(pairs.sources[first + i]);
        const float* v = rows.row(pairs.targets[first + i]);
        float* to = out.row(i);
        for (std::size_t c = 0; c < width; ++c)
            to[c] = u[c] * v[c];
        if (options_.input == PairInput::sums) {
            for (std::size_t c = 0; c < width; ++c)
                to[width + c] = u[c] + v[c];
        } else if (options_.input == PairInput::rows) {
            std::copy_n(u, width, to + width);
            std::copy_n(v, width, to + 2 * width);
        }
        if (weights.relation.empty()) continue;
        const std::size_t relation = pairs.relations.empty() ? 0 : pairs.relations[first + i];
        const float* r = weights.relation.data() + relation * width;
        for (std::size_t c = 0; c < width; ++c)
            to[c] *= r[c];
    }
}

/// Pairs [first, last), at most chunk_rows of them. `hidden` takes the hidden layer, where there is
/// one.
void PairHead::score_rows(const ConstMatrix& rows, const SeedPairs& pairs,
                          const PairWeights& weights, std::size_t first, std::size_t last,
                          float* scores, const Matrix& hidden) const {
    const std::size_t count = last - first;
    const std::size_t width = options_.width;
    const Matrix input = scratch_rows(Scratch::input, count, layered() ? inputs() : width);
    fill_inputs(rows, pairs, weights, first, input);
    if (!layered()) {
        for (std::size_t i = 0; i < count; ++i) {
            const float* row = input.row(i);
            scores[i] = sum_of(width, [row](std::size_t c) { return row[c]; });
        }
        return;
    }
    multiply_transposed(input, {weights.hidden.data(), width, inputs(), inputs()}, hidden);
    for (std::size_t i = 0; i < count; ++i) {
        float* row = hidden.row(i);
        for (std::size_t c = 0; c < width; ++c)
            row[c] = std::max(row[c] + weights.hidden_bias[c], 0.F);
    }
    const Matrix out{scores, count, outputs_, outputs_};
    multiply_transposed(hidden, {weights.out.data(), outputs_, width, width}, out);
    add_rows(out, {weights.out_bias.data(), count, outputs_, 0});
}

void PairHead::score(const ConstMatrix& rows, const SeedPairs& pairs, const PairWeights& weights,
                     std::span<float> scores) {
    RUDDER_CHECK(scores.size() == pairs.size() * outputs_ && rows.columns == options_.width);
    parallel_chunks(pairs.size(), chunk_rows, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        const Matrix hidden =
            layered() ? scratch_rows(Scratch::product, count, options_.width) : Matrix{};
        score_rows(rows, pairs, weights, chunk.begin, chunk.end,
                   scores.data() + chunk.begin * outputs_, hidden);
    });
}

/// The scores become their gradient.
LossSums PairHead::loss(Objective objective, const SeedTargets& targets, float weight,
                        std::span<const float> class_weights) {
    const std::size_t pairs = targets.pairs.size();
    const std::uint32_t group = objective == Objective::links ? targets.pairs.group : 1;
    const std::size_t size = std::max<std::size_t>(1, chunk_rows / group) * group;
    fit_array(losses_, chunk_count(pairs, size));
    parallel_chunks(pairs, size, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        float* scores = scores_.data() + chunk.begin * outputs_;
        losses_[chunk.index] =
            objective == Objective::links
                ? link_loss(options_.loss, group, weight, {scores, count})
                : loss_and_gradient(objective, targets_of(targets, outputs_, chunk.begin, count),
                                    weight, {scores, count, outputs_, outputs_}, class_weights);
    });
    LossSums total;
    for (std::size_t i = 0; i < chunk_count(pairs, size); ++i)
        total.add(losses_[i]);
    return total;
}

/// Gradients of the scorer's network; the hidden layer becomes the gradient of its input.
void PairHead::network_back(const ConstMatrix& rows, const SeedPairs& pairs,
                            const PairWeights& weights, const PairGradients& gradients) {
    const std::size_t width = options_.width;
    const Lanes lanes(pairs.size());
    const std::size_t out_floats = LaneSums::floats(lanes, outputs_, width);
    fit_array(sums_, out_floats + LaneSums::floats(lanes, width, inputs()));
    const LaneSums out_sums(sums_.data(), lanes, outputs_, width);
    const LaneSums hidden_sums(sums_.data() + out_floats, lanes, width, inputs());
    parallel_chunks(lanes.rows, lanes.size, [&](const Chunk& lane) {
        for (std::size_t first = lane.begin; first < lane.end; first += chunk_rows) {
            const std::size_t count = std::min(chunk_rows, lane.end - first);
            const bool is_first = first == lane.begin;
            const ConstMatrix scores{scores_.data() + first * outputs_, count, outputs_, outputs_};
            const Matrix hidden = hidden_rows(first, count);
            out_sums.add(lane.index, is_first, scores, hidden);
            const Matrix back = scratch_rows(Scratch::gradient, count, width);
            multiply(scores, {weights.out.data(), outputs_, width, width}, back);
            for (std::size_t i = 0; i < count; ++i) {
                for (std::size_t c = 0; c < width; ++c)
                    back.row(i)[c] = hidden.row(i)[c] > 0 ? back.row(i)[c] : 0.F;
            }
            const Matrix input = scratch_rows(Scratch::input, count, inputs());
            fill_inputs(rows, pairs, weights, first, input);
            hidden_sums.add(lane.index, is_first, back, input);
            multiply(back, {weights.hidden.data(), width, inputs(), inputs()},
                     {hidden.data, count, inputs(), hidden.stride});
        }
    });
    const LaneSums::Stretch of_out{0, width, gradients.out};
    const LaneSums::Stretch of_hidden{0, inputs(), gradients.hidden};
    out_sums.finish(std::span(&of_out, 1), gradients.out_bias);
    hidden_sums.finish(std::span(&of_hidden, 1), gradients.hidden_bias);
}

/// The gradient of the relations' weights, lane by lane.
void PairHead::relation_back(const ConstMatrix& rows, const SeedPairs& pairs,
                             const PairGradients& gradients) {
    const std::size_t width = options_.width;
    const std::size_t columns = options_.relations * width;
    const Lanes lanes(pairs.size());
    fit_array(sums_, LaneColumns::floats(lanes, columns));
    const LaneColumns sums(sums_.data(), lanes, columns);
    parallel_chunks(lanes.rows, lanes.size, [&](const Chunk& lane) {
        sums.clear(lane.index);
        for (std::size_t i = lane.begin; i < lane.end; ++i) {
            const float* u = rows.row(pairs.sources[i]);
            const float* v = rows.row(pairs.targets[i]);
            const std::size_t relation = pairs.relations.empty() ? 0 : pairs.relations[i];
            float* to = sums.lane(lane.index) + relation * width;
            const float* back = layered() ? input_back(i) : nullptr;
            for (std::size_t c = 0; c < width; ++c)
                to[c] += (layered() ? back[c] : scores_[i]) * (u[c] * v[c]);
        }
    });
    sums.finish(gradients.relation);
}

/// A counting sort of all sides by their seed, which keeps the order of the pairs.
void PairHead::find_places(const SeedPairs& pairs, std::size_t seeds) {
    RawVector<std::uint32_t>& offsets = places_.offsets;
    offsets.resize(seeds + 2);
    std::ranges::fill(offsets, 0U);
    // Counted two places on: filling moves the start of each to where it belongs.
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        ++offsets[std::size_t{pairs.sources[i]} + 2];
        ++offsets[std::size_t{pairs.targets[i]} + 2];
    }
    for (std::size_t s = 2; s < offsets.size(); ++s)
        offsets[s] += offsets[s - 1];
    places_.sides.resize(2 * pairs.size());
    for (std::uint32_t i = 0; i < pairs.size(); ++i) {
        places_.sides[offsets[std::size_t{pairs.sources[i]} + 1]++] = 2 * i;
        places_.sides[offsets[std::size_t{pairs.targets[i]} + 1]++] = 2 * i + 1;
    }
}

void PairHead::rows_back(const ConstMatrix& rows, const SeedPairs& pairs,
                         const PairWeights& weights) {
    const std::size_t width = options_.width;
    const std::size_t stride = aligned_columns(width);
    fit_array(back_, rows.rows * stride);
    constexpr std::size_t rows_per_chunk = 64;
    parallel_chunks(rows.rows, rows_per_chunk, [&](const Chunk& chunk) {
        for (std::size_t s = chunk.begin; s < chunk.end; ++s) {
            float* to = back_.data() + s * stride;
            std::fill_n(to, width, 0.F);
            for (std::size_t k = places_.offsets[s]; k < places_.offsets[s + 1]; ++k) {
                const std::size_t pair = places_.sides[k] / 2;
                const bool is_target = places_.sides[k] % 2 != 0;
                const float* other =
                    rows.row(is_target ? pairs.sources[pair] : pairs.targets[pair]);
                const float* back = layered() ? input_back(pair) : nullptr;
                const std::size_t relation = pairs.relations.empty() ? 0 : pairs.relations[pair];
                const float* r =
                    weights.relation.empty() ? nullptr : weights.relation.data() + relation * width;
                for (std::size_t c = 0; c < width; ++c) {
                    const float slope = layered() ? back[c] : scores_[pair];
                    to[c] += slope * (r == nullptr ? other[c] : other[c] * r[c]);
                }
                if (!layered() || options_.input == PairInput::products) continue;
                const bool second = is_target && options_.input == PairInput::rows;
                const float* of_row = back + (second ? 2 : 1) * width;
                for (std::size_t c = 0; c < width; ++c)
                    to[c] += of_row[c];
            }
        }
    });
}

LossSums PairHead::train(Objective objective, const Matrix& rows, const SeedTargets& targets,
                         float weight, const PairWeights& weights,
                         std::span<const float> class_weights, const PairGradients& gradients) {
    const SeedPairs& pairs = targets.pairs;
    RUDDER_CHECK(rows.columns == options_.width && pairs.targets.size() == pairs.size());
    RUDDER_CHECK(pairs.group > 0 && pairs.size() % pairs.group == 0);
    fit_array(scores_, pairs.size() * outputs_);
    if (layered()) fit_array(hidden_, pairs.size() * aligned_columns(inputs()));
    parallel_chunks(pairs.size(), chunk_rows, [&](const Chunk& chunk) {
        const Matrix hidden =
            layered() ? hidden_rows(chunk.begin, chunk.end - chunk.begin) : Matrix{};
        score_rows(rows, pairs, weights, chunk.begin, chunk.end,
                   scores_.data() + chunk.begin * outputs_, hidden);
    });
    const LossSums sums = loss(objective, targets, weight, class_weights);
    if (layered()) network_back(rows, pairs, weights, gradients);
    if (!weights.relation.empty()) relation_back(rows, pairs, gradients);
    find_places(pairs, rows.rows);
    rows_back(rows, pairs, weights);
    for (std::size_t s = 0; s < rows.rows; ++s)
        std::copy_n(back_.data() + s * aligned_columns(rows.columns), rows.columns, rows.row(s));
    return sums;
}

std::uint64_t PairHead::bytes(std::uint64_t seeds, std::uint64_t pairs) const noexcept {
    const std::uint64_t row = aligned_columns(options_.width) * sizeof(float);
    const std::uint64_t read = aligned_columns(inputs()) * sizeof(float);
    const std::uint64_t wide =
        layered() ? (pairs + options_.width * 16) * read : options_.relations * row;
    return seeds * (row + sizeof(std::uint32_t)) + wide +
           pairs * (outputs_ * sizeof(float) + 2 * sizeof(std::uint32_t));
}

}  // namespace rudder::nn
