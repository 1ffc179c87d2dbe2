// mlp: 128-128-64-32-1 with ReLU; batch norm is folded into the weights.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "classifiers.hpp"
#include "dense.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<std::size_t, 4> widths{128, 128, 64, 32};

class Mlp final : public Classifier {
public:
    Mlp(const Model& model, const std::string& where) {
        std::size_t inputs = model.mean.size();
        for (std::size_t k = 0; k < widths.size(); ++k) {
            const auto weights =
                floats(model, fmt::format("layer.{}.weights", k), {widths[k], inputs}, where);
            const auto bias = floats(model, fmt::format("layer.{}.bias", k), {widths[k]}, where);
            layers_[k] = Dense(weights, inputs, {}, bias);
            inputs = widths[k];
        }
        const auto last = floats(model, "last", {inputs + 1}, where);
        last_.assign(last.begin(), last.end());
    }

    [[nodiscard]] double probability(std::span<const float> x) override {
        const float* input = x.data();
        for (std::size_t k = 0; k < layers_.size(); ++k) {
            std::array<float, 128>& out = hidden_[k % 2];
            layers_[k].apply(input, out.data());
            for (float& value : out)
                value = std::max(value, 0.0F);
            input = out.data();
        }
        double sum = static_cast<double>(last_.back());
        for (std::size_t i = 0; i + 1 < last_.size(); ++i)
            sum += static_cast<double>(last_[i]) * static_cast<double>(input[i]);
        return sigmoid(sum);
    }
    [[nodiscard]] std::span<const float> last_input() const override {
        return std::span(hidden_[(widths.size() - 1) % 2]).first(widths.back());
    }
    [[nodiscard]] std::span<float> last_weights() override { return last_; }

private:
    std::array<Dense, widths.size()> layers_;
    std::vector<float> last_;  ///< the bias last
    std::array<std::array<float, 128>, 2> hidden_{};
};

}  // namespace

std::unique_ptr<Classifier> make_mlp(const Model& model, const std::string& where) {
    return std::make_unique<Mlp>(model, where);
}

}  // namespace rudder::steer
