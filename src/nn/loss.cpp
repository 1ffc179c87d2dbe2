#include "rudder/nn/loss.hpp"

#include <algorithm>
#include <cmath>

#include "rudder/core/check.hpp"

namespace rudder::nn {

namespace {

/// Index of the first largest score.
std::size_t best_of(const float* scores, std::size_t outputs) noexcept {
    return static_cast<std::size_t>(std::max_element(scores, scores + outputs) - scores);
}

/// Softmax and its cross-entropy, with the largest score taken off first.
double cross_entropy(float* scores, std::size_t outputs, std::size_t label, float weight) noexcept {
    const float top = scores[best_of(scores, outputs)];
    const float own = scores[label] - top;
    float sum = 0;
    for (std::size_t c = 0; c < outputs; ++c) {
        scores[c] = std::exp(scores[c] - top);
        sum += scores[c];
    }
    const float factor = weight / sum;
    for (std::size_t c = 0; c < outputs; ++c)
        scores[c] *= factor;
    scores[label] -= weight;
    return static_cast<double>(std::log(sum) - own);
}

LossSums classes(std::span<const std::int32_t> labels, float weight, const Matrix& scores,
                 std::span<const float> class_weights) {
    LossSums sums;
    for (std::size_t r = 0; r < scores.rows; ++r) {
        float* row = scores.row(r);
        if (labels[r] < 0) {
            std::fill_n(row, scores.columns, 0.F);
            continue;
        }
        const auto label = static_cast<std::size_t>(labels[r]);
        RUDDER_CHECK(label < scores.columns);
        ++sums.answers;
        sums.correct += best_of(row, scores.columns) == label ? 1U : 0U;
        const float own = class_weights.empty() ? weight : weight * class_weights[label];
        sums.loss += static_cast<double>(own) * cross_entropy(row, scores.columns, label, own);
    }
    return sums;
}

LossSums multilabel(std::span<const std::uint8_t> labels, float weight, const Matrix& scores) {
    LossSums sums;
    const float share = weight / static_cast<float>(scores.columns);
    for (std::size_t r = 0; r < scores.rows; ++r) {
        float* row = scores.row(r);
        const std::uint8_t* label = labels.data() + r * scores.columns;
        if (label[0] > 1) {
            std::fill_n(row, scores.columns, 0.F);
            continue;
        }
        double loss = 0;
        for (std::size_t c = 0; c < scores.columns; ++c) {
            const float x = row[c];
            const float y = static_cast<float>(label[c]);
            const float e = std::exp(-std::fabs(x));
            // log(1 + exp(x)) - x y, without overflow on either side.
            loss += static_cast<double>((x > 0 ? x : 0.F) - x * y + std::log1p(e));
            const float sigmoid = x >= 0 ? 1.F / (1.F + e) : e / (1.F + e);
            sums.correct += (x > 0) == (label[c] == 1) ? 1U : 0U;
            row[c] = (sigmoid - y) * share;
        }
        sums.answers += scores.columns;
        sums.loss += loss * static_cast<double>(share);
    }
    return sums;
}

LossSums regression(std::span<const float> targets, float weight, const Matrix& scores) {
    LossSums sums;
    const float share = weight / static_cast<float>(scores.columns);
    for (std::size_t r = 0; r < scores.rows; ++r) {
        float* row = scores.row(r);
        const float* target = targets.data() + r * scores.columns;
        if (std::isnan(target[0])) {
            std::fill_n(row, scores.columns, 0.F);
            continue;
        }
        double loss = 0;
        for (std::size_t c = 0; c < scores.columns; ++c) {
            const float off = row[c] - target[c];
            loss += static_cast<double>(off) * static_cast<double>(off);
            row[c] = 2.F * off * share;
        }
        sums.loss += loss * static_cast<double>(share);
    }
    return sums;
}

}  // namespace

SeedTargets targets_of(const SeedTargets& targets, std::size_t outputs, std::size_t first,
                       std::size_t count) noexcept {
    SeedTargets part;
    if (!targets.classes.empty()) part.classes = targets.classes.subspan(first, count);
    if (!targets.multilabel.empty())
        part.multilabel = targets.multilabel.subspan(first * outputs, count * outputs);
    if (!targets.regression.empty())
        part.regression = targets.regression.subspan(first * outputs, count * outputs);
    return part;
}

LossSums loss_and_gradient(Objective objective, const SeedTargets& targets, float weight,
                           const Matrix& scores, std::span<const float> class_weights) {
    switch (objective) {
        case Objective::classes:
            RUDDER_CHECK_NORMAL(targets.classes.size() == scores.rows);
            return classes(targets.classes, weight, scores, class_weights);
        case Objective::multilabel:
            RUDDER_CHECK_NORMAL(targets.multilabel.size() == scores.rows * scores.columns);
            return multilabel(targets.multilabel, weight, scores);
        case Objective::regression:
        case Objective::links:
            break;
    }
    RUDDER_CHECK(objective == Objective::regression);  // pairs have losses of their own
    RUDDER_CHECK_NORMAL(targets.regression.size() == scores.rows * scores.columns);
    return regression(targets.regression, weight, scores);
}

BatchResult count_correct(Objective objective, std::uint64_t outputs, std::span<const float> scores,
                          const SeedTargets& targets) {
    BatchResult result;
    const std::size_t rows = outputs == 0 ? 0 : scores.size() / outputs;
    for (std::size_t r = 0; r < rows; ++r) {
        const float* row = scores.data() + r * outputs;
        if (objective == Objective::classes && targets.classes[r] >= 0) {
            ++result.answers;
            const auto label = static_cast<std::size_t>(targets.classes[r]);
            result.correct += best_of(row, outputs) == label ? 1U : 0U;
        }
        if (objective != Objective::multilabel || targets.multilabel[r * outputs] > 1) continue;
        result.answers += outputs;
        for (std::size_t c = 0; c < outputs; ++c)
            result.correct += (row[c] > 0) == (targets.multilabel[r * outputs + c] == 1) ? 1U : 0U;
    }
    return result;
}

}  // namespace rudder::nn
