// How the learning rate goes over a run.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/nn/optimiser.hpp"

namespace rudder::nn {

LearningRateSchedule::LearningRateSchedule(std::string_view text, std::uint64_t warmup)
    : warmup_(warmup) {
    if (text == "constant") return;
    if (text == "cosine" || text == "linear") {
        shape_ = text == "cosine" ? Shape::cosine : Shape::linear;
        return;
    }
    const bool plateau = text.starts_with("plateau:");
    if (plateau || text.starts_with("step:")) {
        const auto numbers = split(text.substr(text.find(':') + 1), ',');
        const auto every = parse_double(numbers.front());
        const auto times = numbers.size() == 2 ? parse_double(numbers[1]) : std::nullopt;
        if (every && times && *times > 0 && *every > 0 && (!plateau || *every >= 1)) {
            shape_ = plateau ? Shape::plateau : Shape::step;
            every_ = *every;
            times_ = *times;
            return;
        }
    }
    throw usage_error(fmt::format("unknown learning rate schedule '{}'", text), "--lr-schedule",
                      "use constant, cosine, linear, step:EPOCHS,FACTOR (step:10,0.5) or "
                      "plateau:EVALUATIONS,FACTOR (plateau:5,0.5)");
}

double LearningRateSchedule::factor(std::uint64_t step, std::uint64_t steps,
                                    std::uint64_t steps_per_epoch) const noexcept {
    if (step < warmup_) return static_cast<double>(step + 1) / static_cast<double>(warmup_ + 1);
    if (shape_ == Shape::constant || shape_ == Shape::plateau) return 1;
    if (shape_ == Shape::step) {
        const auto per_epoch = static_cast<double>(std::max<std::uint64_t>(1, steps_per_epoch));
        const double epochs = std::floor(static_cast<double>(step) / per_epoch);
        return std::pow(times_, std::floor(epochs / every_));
    }
    const std::uint64_t length = steps > warmup_ ? steps - warmup_ : 1;
    const double passed =
        std::min(1.0, static_cast<double>(step - warmup_) / static_cast<double>(length));
    if (shape_ == Shape::linear) return 1 - passed;
    return 0.5 * (1 + std::cos(std::numbers::pi * passed));
}

}  // namespace rudder::nn
