// lr and svm: one weight per feature.
#include "classifiers.hpp"

namespace rudder::steer {

namespace {

class Linear final : public Classifier {
public:
    explicit Linear(std::span<const float> weights) : weights_(weights.begin(), weights.end()) {}

    [[nodiscard]] double probability(std::span<const float> x) override {
        double sum = static_cast<double>(weights_.back());
        for (std::size_t i = 0; i < x.size(); ++i)
            sum += static_cast<double>(weights_[i]) * static_cast<double>(x[i]);
        return sigmoid(sum);
    }

private:
    std::vector<float> weights_;  ///< the bias last
};

}  // namespace

std::unique_ptr<Classifier> make_linear(const Model& model, const std::string& where) {
    return std::make_unique<Linear>(floats(model, "weights", {model.mean.size() + 1}, where));
}

}  // namespace rudder::steer
