// Fitting a classifier's last layer again while it runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/executor/executor.hpp"

namespace rudder::steer {

/// New weights (the bias last) of a linear layer under a sigmoid, by Adam on batches of all rows.
/// `inputs` is rows x width, labels are 0 or 1.
[[nodiscard]] std::vector<float> refit_last_layer(std::span<const float> inputs,
                                                  std::span<const std::uint8_t> labels,
                                                  std::span<const float> weights,
                                                  std::uint32_t epochs, double learning_rate);

/// Collects answers whose outcome is known and fits the layer to them: every 50 new ones, 3 epochs,
/// as published. Answers do not wait for a fit, which is a task of its own; what it made is taken
/// over by the first `update` after its end. Against drift, new weights are kept only if they are
/// right at least as often, both classes counting alike, on the newest samples, which they were not
/// fitted to.
class LastLayerRefit {
public:
    static constexpr std::size_t interval = 50;
    static constexpr std::uint32_t epochs = 3;
    static constexpr double learning_rate = 1e-4;
    static constexpr std::size_t held_out = 50;  ///< newest samples, for the guard
    static constexpr std::size_t memory = 500;   ///< samples kept

    /// What fits: refit_last_layer, or what measures or stands in for it.
    using Body = std::function<decltype(refit_last_layer)>;
    /// `repeatable`: a fit is made at once and taken over by the next `update`, so that the same
    /// samples make the same weights at the same time (replays).
    explicit LastLayerRefit(bool repeatable, Body body = refit_last_layer)
        : body_(std::move(body)), repeatable_(repeatable) {}
    /// Waits for a fit that is under way.
    ~LastLayerRefit();
    LastLayerRefit(LastLayerRefit&&) = delete;

    /// One more sample: what the layer was given, and the answer that was right.
    void add(std::span<const float> input, bool label);
    /// Takes over a fit that has ended, where the guard agrees, and begins one if enough came since
    /// the last time.
    void update(std::span<float> weights);

    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }
    [[nodiscard]] std::uint64_t turned_down() const noexcept { return turned_down_; }

private:
    /// What a fit works on: a copy, since samples go on coming.
    struct Fit {
        std::vector<float> inputs;
        std::vector<std::uint8_t> labels;
        std::vector<float> weights;
    };
    [[nodiscard]] double balanced(std::span<const float> weights, std::size_t first) const;
    void begin(std::span<const float> weights);
    void take_over(std::span<float> weights);

    Body body_;
    bool repeatable_;
    std::vector<float> inputs_;
    std::vector<std::uint8_t> labels_;
    std::size_t fresh_ = 0;
    Task task_;
    std::shared_ptr<Fit> fit_;  ///< under way
    std::uint64_t taken_ = 0;
    std::uint64_t turned_down_ = 0;
};

}  // namespace rudder::steer
