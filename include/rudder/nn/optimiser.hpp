// Optimisers over flat weights: one pass, in fixed chunks, on all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/nn/network.hpp"

namespace rudder::nn {

struct OptimiserOptions {
    std::string name = "adam";  ///< adam, adamw, sgd
    double learning_rate = 0.003;
    double weight_decay = 0;
    double momentum = 0.9;  ///< of sgd
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double clip = 0;  ///< largest norm of the whole gradient; 0: none
};
[[nodiscard]] std::vector<std::string_view> optimiser_names();

/// Changes weights by a gradient. Element by element, so the bits never depend on threads; the norm
/// of clipping is summed in fixed chunks.
class Optimiser {
public:
    virtual ~Optimiser() = default;
    /// One step at `learning_rate`. `gradient` is scaled in place where it is clipped.
    virtual void step(std::span<float> weights, std::span<float> gradient,
                      double learning_rate) = 0;
    /// What it remembers besides the weights, for checkpoints: named flat vectors of the weights'
    /// size, and the number of steps taken.
    struct Memory {
        std::string name;
        std::span<float> values;
    };
    [[nodiscard]] virtual std::vector<Memory> memory() = 0;
    [[nodiscard]] virtual std::uint64_t steps() const noexcept = 0;
    virtual void set_steps(std::uint64_t steps) noexcept = 0;
};

/// An unknown name is a usage Error that lists the known ones.
[[nodiscard]] std::unique_ptr<Optimiser> make_optimiser(const OptimiserOptions& options,
                                                        std::span<const Parameter> parameters);

/// How the learning rate goes over the run: constant, cosine, linear (to 0), step:E,F (times F
/// every E epochs) or plateau:E,F (times F after E evaluations without a better one, which whoever
/// evaluates sees to), each after `warmup` steps from 0.
class LearningRateSchedule {
public:
    /// Reads "constant", "cosine", "linear", "step:10,0.5", "plateau:5,0.5"; a usage Error that
    /// lists them otherwise.
    explicit LearningRateSchedule(std::string_view text, std::uint64_t warmup = 0);
    /// The factor of the base rate at a step. While warming up it is (step + 1) / (warmup + 1), so
    /// that no step is taken at rate 0.
    [[nodiscard]] double factor(std::uint64_t step, std::uint64_t steps,
                                std::uint64_t steps_per_epoch) const noexcept;
    /// Of a plateau: evaluations to wait (0: it is none), and the factor then.
    [[nodiscard]] std::uint64_t plateau() const noexcept {
        return shape_ == Shape::plateau ? static_cast<std::uint64_t>(every_) : 0;
    }
    [[nodiscard]] double plateau_factor() const noexcept { return times_; }

private:
    enum class Shape : std::uint8_t { constant, cosine, linear, step, plateau };
    Shape shape_ = Shape::constant;
    double every_ = 0;
    double times_ = 1;
    std::uint64_t warmup_ = 0;
};

}  // namespace rudder::nn
