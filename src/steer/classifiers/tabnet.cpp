// tabnet: attentive steps over masked features (Arik and Pfister, AAAI 2021); batch norms are
// folded into factors and shifts.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "classifiers.hpp"
#include "dense.hpp"

namespace rudder::steer {

namespace {

constexpr std::size_t width = 64;        ///< n_d = n_a
constexpr std::size_t both = 2 * width;  ///< what a feature transformer gives
constexpr std::size_t gated = 2 * both;  ///< values and their gates
constexpr std::size_t steps = 5;
constexpr std::size_t glus = 4;  ///< of a transformer: two shared, two of its own
constexpr float gamma = 1.5F;

/// The feature transformer of one step.
struct Transformer {
    std::array<std::vector<float>, 2> factor;  ///< of the shared products
    std::array<std::vector<float>, 2> shift;
    std::array<Dense, 2> own;
    Dense attend;  ///< unused in the first
};

class TabNet final : public Classifier {
public:
    TabNet(const Model& model, const std::string& where);
    [[nodiscard]] double probability(std::span<const float> x) override;
    [[nodiscard]] std::span<const float> last_input() const override { return sum_; }
    [[nodiscard]] std::span<float> last_weights() override { return last_; }

private:
    void transform(const Transformer& by, const float* input);
    void mask(const Transformer& by);

    std::vector<float> input_factor_;
    std::vector<float> input_shift_;
    std::array<Dense, 2> shared_;
    std::array<Transformer, steps + 1> transformers_;
    std::vector<float> last_;  ///< the bias last

    // Scratch.
    std::vector<float> features_, masked_, prior_, scores_, sorted_;
    std::array<float, gated> product_{};
    std::array<float, both> gated_{};
    std::array<float, both> out_{};
    std::array<float, width> sum_{};
};

TabNet::TabNet(const Model& model, const std::string& where) {
    const std::size_t count = model.mean.size();
    const auto copy = [&](const std::string& name, std::size_t size) {
        const auto values = floats(model, name, {size}, where);
        return std::vector<float>(values.begin(), values.end());
    };
    input_factor_ = copy("input.factor", count);
    input_shift_ = copy("input.shift", count);
    shared_[0] = Dense(floats(model, "shared.0", {gated, count}, where), count, {}, {});
    shared_[1] = Dense(floats(model, "shared.1", {gated, both}, where), both, {}, {});
    for (std::size_t s = 0; s <= steps; ++s) {
        Transformer& t = transformers_[s];
        const std::string name = fmt::format("step.{}", s);
        for (std::size_t k = 0; k < glus; ++k) {
            const auto factor = copy(fmt::format("{}.factor.{}", name, k), gated);
            const auto shift = copy(fmt::format("{}.shift.{}", name, k), gated);
            if (k < 2) {
                t.factor[k] = factor;
                t.shift[k] = shift;
            } else {
                const auto weights =
                    floats(model, fmt::format("{}.own.{}", name, k - 2), {gated, both}, where);
                t.own[k - 2] = Dense(weights, both, factor, shift);
            }
        }
        if (s == 0) continue;
        const auto factor = copy(fmt::format("{}.attend.factor", name), count);
        const auto shift = copy(fmt::format("{}.attend.shift", name), count);
        t.attend = Dense(floats(model, fmt::format("{}.attend", name), {count, width}, where),
                         width, factor, shift);
    }
    last_ = copy("last", width + 1);
    for (auto* scratch : {&features_, &masked_, &prior_})
        scratch->resize(count);
    scores_.resize(transformers_[1].attend.padded());
}

/// out_ = the transformer of `input`: gates with residual connections.
void TabNet::transform(const Transformer& by, const float* input) {
    constexpr float half = 0.70710678F;
    for (std::size_t k = 0; k < glus; ++k) {
        if (k < 2) {
            shared_[k].apply(k == 0 ? input : out_.data(), product_.data());
            for (std::size_t i = 0; i < gated; ++i)
                product_[i] = product_[i] * by.factor[k][i] + by.shift[k][i];
        } else {
            by.own[k - 2].apply(out_.data(), product_.data());
        }
        gate(product_.data(), product_.data() + both, gated_.data(), both);
        if (k == 0) {
            out_ = gated_;
            continue;
        }
        for (std::size_t i = 0; i < both; ++i)
            out_[i] = (out_[i] + gated_[i]) * half;
    }
}

/// masked_ = sparsemax(prior * attention) * features; the prior loses what was looked at.
void TabNet::mask(const Transformer& by) {
    const std::size_t count = features_.size();
    by.attend.apply(out_.data() + width, scores_.data());
    for (std::size_t i = 0; i < count; ++i)
        scores_[i] *= prior_[i];
    // The projection onto the simplex: of the sorted scores, the longest prefix that stays
    // positive.
    sorted_.assign(scores_.begin(), scores_.begin() + static_cast<std::ptrdiff_t>(count));
    std::ranges::sort(sorted_, std::greater<>());
    float sum = 0;
    float threshold = 0;
    for (std::size_t k = 0; k < count; ++k) {
        sum += sorted_[k];
        const float t = (sum - 1) / static_cast<float>(k + 1);
        if (sorted_[k] <= t) break;
        threshold = t;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const float share = std::max(scores_[i] - threshold, 0.0F);
        prior_[i] *= gamma - share;
        masked_[i] = share * features_[i];
    }
}

double TabNet::probability(std::span<const float> x) {
    for (std::size_t i = 0; i < x.size(); ++i)
        features_[i] = x[i] * input_factor_[i] + input_shift_[i];
    std::ranges::fill(prior_, 1.0F);
    sum_.fill(0);
    transform(transformers_[0], features_.data());
    for (std::size_t s = 1; s <= steps; ++s) {
        mask(transformers_[s]);
        transform(transformers_[s], masked_.data());
        for (std::size_t i = 0; i < width; ++i)
            sum_[i] += std::max(out_[i], 0.0F);
    }
    double logit = static_cast<double>(last_.back());
    for (std::size_t i = 0; i < width; ++i)
        logit += static_cast<double>(last_[i]) * static_cast<double>(sum_[i]);
    return sigmoid(logit);
}

}  // namespace

std::unique_ptr<Classifier> make_tabnet(const Model& model, const std::string& where) {
    return std::make_unique<TabNet>(model, where);
}

}  // namespace rudder::steer
