#include "refit.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rudder::steer {

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

void LastLayerRefit::begin(std::span<const float> weights) {
    fresh_ = 0;
    const std::size_t fitted = labels_.size() - held_out;
    const auto inputs = std::span(inputs_).first(fitted * (weights.size() - 1));
    const auto labels = std::span(labels_).first(fitted);
    fit_ = std::make_shared<Fit>(Fit{{inputs.begin(), inputs.end()},
                                     {labels.begin(), labels.end()},
                                     {weights.begin(), weights.end()}});
    const auto work = [fit = fit_, body = body_] {
        fit->weights = body(fit->inputs, fit->labels, fit->weights, epochs, learning_rate);
    };
    if (repeatable_) {
        work();  // replays run side by side in a loop, where nobody may wait
    } else {
        task_ = Executor::current().spawn("refit", work);
    }
}

void LastLayerRefit::take_over(std::span<float> weights) {
    const auto fit = std::exchange(fit_, nullptr);
    if (task_.valid()) task_.finish();
    const std::size_t first = labels_.size() - held_out;
    if (balanced(fit->weights, first) >= balanced(weights, first)) {
        std::ranges::copy(fit->weights, weights.begin());
        ++taken_;
    } else {
        ++turned_down_;
    }
}

void LastLayerRefit::update(std::span<float> weights) {
    if (fit_ && (repeatable_ || task_.done())) take_over(weights);
    if (fit_ || fresh_ < interval || labels_.size() < interval + held_out) return;
    begin(weights);
}

LastLayerRefit::~LastLayerRefit() {
    task_.settle();  // what it made is not wanted any more, and neither is why it failed
}

}  // namespace rudder::steer
