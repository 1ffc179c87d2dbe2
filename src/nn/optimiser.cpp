// The optimisers: element by element, in fixed chunks.
#include "rudder/nn/optimiser.hpp"

#include <algorithm>
#include <cmath>

#include "core/spec_registry.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::nn {

namespace {

constexpr std::size_t chunk_elements = 16384;

/// Scales the gradient down to the norm `limit`, as PyTorch's clip_grad_norm_ does.
void clip(std::span<float> gradient, double limit) {
    std::vector<double> sums(chunk_count(gradient.size(), chunk_elements));
    parallel_chunks(gradient.size(), chunk_elements, [&](const Chunk& chunk) {
        double sum = 0;
        for (std::size_t i = chunk.begin; i < chunk.end; ++i)
            sum += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
        sums[chunk.index] = sum;
    });
    double total = 0;
    for (const double sum : sums)
        total += sum;
    const double factor = limit / (std::sqrt(total) + 1e-6);
    if (!(factor < 1)) return;
    parallel_chunks(gradient.size(), chunk_elements, [&](const Chunk& chunk) {
        for (std::size_t i = chunk.begin; i < chunk.end; ++i)
            gradient[i] *= static_cast<float>(factor);
    });
}

/// What the three share: clipping, counting steps, walking the parameters.
class FlatOptimiser : public Optimiser {
public:
    FlatOptimiser(OptimiserOptions options, std::span<const Parameter> parameters)
        : options_(std::move(options)), parameters_(parameters.begin(), parameters.end()) {
        for (const Parameter& parameter : parameters_)
            size_ = std::max(size_, parameter.offset + parameter.size);
    }

    void step(std::span<float> weights, std::span<float> gradient, double rate) final {
        RUDDER_CHECK(weights.size() == gradient.size() && weights.size() >= size_);
        if (options_.clip > 0) clip(gradient, options_.clip);
        ++steps_;
        for (const Parameter& parameter : parameters_) {
            if (!parameter.trained) continue;
            const double decay = parameter.decays ? options_.weight_decay : 0;
            parallel_chunks(parameter.size, chunk_elements, [&](const Chunk& chunk) {
                const std::size_t first = parameter.offset + chunk.begin;
                update(first, weights.subspan(first, chunk.end - chunk.begin),
                       gradient.data() + first, rate, decay);
            });
        }
    }
    [[nodiscard]] std::uint64_t steps() const noexcept final { return steps_; }
    void set_steps(std::uint64_t steps) noexcept final { steps_ = steps; }

protected:
    /// Changes the weights that begin at element `first`.
    virtual void update(std::size_t first, std::span<float> weights, const float* gradient,
                        double rate, double decay) = 0;
    [[nodiscard]] const OptimiserOptions& options() const noexcept { return options_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }

private:
    OptimiserOptions options_;
    std::vector<Parameter> parameters_;
    std::size_t size_ = 0;
    std::uint64_t steps_ = 0;
};

class Adam final : public FlatOptimiser {
public:
    Adam(const OptimiserOptions& options, std::span<const Parameter> parameters, bool decoupled)
        : FlatOptimiser(options, parameters),
          decoupled_(decoupled),
          mean_(Array<float>::zeroed(size())),
          square_(Array<float>::zeroed(size())) {}

    [[nodiscard]] std::vector<Memory> memory() override {
        return {{"mean", mean_.span()}, {"square", square_.span()}};
    }

protected:
    void update(std::size_t first, std::span<float> weights, const float* gradient, double rate,
                double decay) override {
        const auto step = static_cast<double>(steps());
        const double correction = 1 - std::pow(options().beta1, step);
        const auto root = static_cast<float>(std::sqrt(1 - std::pow(options().beta2, step)));
        const auto length = static_cast<float>(rate / correction);
        const auto keep = static_cast<float>(decoupled_ ? 1 - rate * decay : 1.0);
        const auto pull = static_cast<float>(decoupled_ ? 0.0 : decay);
        const auto mix1 = static_cast<float>(1 - options().beta1);
        const auto beta2 = static_cast<float>(options().beta2);
        const auto mix2 = static_cast<float>(1 - options().beta2);
        const auto epsilon = static_cast<float>(options().epsilon);
        float* __restrict w = weights.data();
        float* __restrict mean = mean_.data() + first;
        float* __restrict square = square_.data() + first;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const float kept = w[i] * keep;
            const float g = gradient[i] + pull * kept;
            mean[i] += (g - mean[i]) * mix1;
            square[i] = square[i] * beta2 + mix2 * g * g;
            w[i] = kept - length * (mean[i] / (std::sqrt(square[i]) / root + epsilon));
        }
    }

private:
    bool decoupled_;
    Array<float> mean_;
    Array<float> square_;
};

class Sgd final : public FlatOptimiser {
public:
    Sgd(const OptimiserOptions& options, std::span<const Parameter> parameters)
        : FlatOptimiser(options, parameters), velocity_(Array<float>::zeroed(size())) {}

    [[nodiscard]] std::vector<Memory> memory() override { return {{"velocity", velocity_.span()}}; }

protected:
    void update(std::size_t first, std::span<float> weights, const float* gradient, double rate,
                double decay) override {
        const auto momentum = static_cast<float>(options().momentum);
        const auto length = static_cast<float>(rate);
        const auto pull = static_cast<float>(decay);
        float* __restrict w = weights.data();
        float* __restrict velocity = velocity_.data() + first;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            velocity[i] = momentum * velocity[i] + (gradient[i] + pull * w[i]);
            w[i] -= length * velocity[i];
        }
    }

private:
    Array<float> velocity_;
};

}  // namespace

std::vector<std::string_view> optimiser_names() {
    return {"adam", "adamw", "sgd"};
}

std::unique_ptr<Optimiser> make_optimiser(const OptimiserOptions& options,
                                          std::span<const Parameter> parameters) {
    if (options.name == "adam") return std::make_unique<Adam>(options, parameters, false);
    if (options.name == "adamw") return std::make_unique<Adam>(options, parameters, true);
    if (options.name == "sgd") return std::make_unique<Sgd>(options, parameters);
    throw unknown_name("optimiser", options.name, optimiser_names(), "--optimiser");
}

}  // namespace rudder::nn
