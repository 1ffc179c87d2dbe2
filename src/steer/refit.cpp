#include "rudder/steer/refit.hpp"

#include <algorithm>
#include <numeric>

namespace rudder {

void LastLayerRefit::add(std::span<const float> input, bool label) {
    if (labels_.size() == memory) {
        inputs_.erase(inputs_.begin(), inputs_.begin() + static_cast<std::ptrdiff_t>(input.size()));
        labels_.erase(labels_.begin());
    }
    inputs_.insert(inputs_.end(), input.begin(), input.end());
    labels_.push_back(label ? 1 : 0);
    ++fresh_;
}

/// Mean of both classes' share of right answers from sample `first` on; 0.5 if one is absent.
double LastLayerRefit::balanced(std::span<const float> weights, std::size_t first) const {
    const std::size_t width = weights.size() - 1;
    double right[2] = {0, 0};
    double count[2] = {0, 0};
    for (std::size_t i = first; i < labels_.size(); ++i) {
        const auto row = std::span(inputs_).subspan(i * width, width);
        const float sum =
            std::inner_product(row.begin(), row.end(), weights.begin(), weights.back());
        ++count[labels_[i]];
        right[labels_[i]] += (sum >= 0) == (labels_[i] != 0) ? 1 : 0;
    }
    if (count[0] == 0 || count[1] == 0) return 0.5;
    return (right[0] / count[0] + right[1] / count[1]) / 2;
}

void LastLayerRefit::update(std::span<float> weights) {
    if (!body_ || fresh_ < interval || labels_.size() < interval + held_out) return;
    fresh_ = 0;
    const std::size_t first = labels_.size() - held_out;
    const std::size_t width = weights.size() - 1;
    const auto made = body_(std::span(inputs_).first(first * width),
                            std::span(labels_).first(first), weights, epochs, learning_rate);
    if (balanced(made, first) >= balanced(weights, first)) {
        std::ranges::copy(made, weights.begin());
        ++taken_;
    } else {
        ++turned_down_;
    }
}

}  // namespace rudder
