// Optimisers on a device: the numbers of optimiser.cpp, element by element.
#include <algorithm>
#include <cmath>

#include "rudder/core/array.hpp"
#include "rudder/core/check.hpp"

#include "device_learning.hpp"
#include "device_weights.hpp"

namespace rudder::nn {

namespace {

/// Elements next to each other that are treated alike.
struct Stretch {
    std::size_t first;
    std::size_t count;
    bool decays;
};

std::vector<Stretch> trained_stretches(std::span<const Parameter> parameters) {
    std::vector<Stretch> all;
    for (const Parameter& each : parameters) {
        if (!each.trained) continue;
        const bool goes_on = !all.empty() && all.back().first + all.back().count == each.offset &&
                             all.back().decays == each.decays;
        if (goes_on) {
            all.back().count += each.size;
        } else {
            all.push_back({each.offset, each.size, each.decays});
        }
    }
    return all;
}

/// Elements whose squares one warp adds up.
constexpr std::size_t squares_at_once = 4096;

/// adam, adamw and sgd. What it remembers lies on the device; it is on the host while somebody has
/// asked for it.
class DeviceOptimiser final : public Optimiser {
public:
    DeviceOptimiser(std::shared_ptr<DeviceWeights> weights, OptimiserOptions options,
                    std::span<const Parameter> parameters, std::unique_ptr<Optimiser> host)
        : weights_(std::move(weights)),
          options_(std::move(options)),
          stretches_(trained_stretches(parameters)),
          host_(std::move(host)),
          on_device_(weights_->shared_device(), DeviceMemory::Where::device,
                     "what the optimiser remembers"),
          squares_(pieces_of(weights_->size(), squares_at_once)) {
        Stretches counted;
        lay_out_memory(counted);
        Stretches there(on_device_.fit(counted.bytes()));
        lay_out_memory(there);
    }

    void step(std::span<float> weights, std::span<float> gradient, double rate) override {
        RUDDER_CHECK(weights.size() == weights_->size() && gradient.size() == weights_->size());
        Device& device = weights_->device();
        float* const values = weights_->values();
        if (!current_) take_memory();
        std::ranges::copy(gradient, weights_->staging());
        device.upload(weights_->gradient(), weights_->staging(), gradient.size_bytes());
        host_->set_steps(host_->steps() + 1);
        const float* const factor = clip();
        for (const Stretch& each : stretches_)
            update(each, values, factor, rate);
        weights_->bring_back(weights);
    }
    /// The host's copies, as of now; the device takes them anew before the next step, since they
    /// may be written.
    [[nodiscard]] std::vector<Memory> memory() override {
        std::vector<Memory> all = host_->memory();
        if (!current_) return all;
        for (std::size_t i = 0; i < all.size(); ++i) {
            weights_->device().download(all[i].values.data(), remembered_[i],
                                        all[i].values.size_bytes());
        }
        weights_->device().finish();
        current_ = false;
        return all;
    }
    [[nodiscard]] std::uint64_t steps() const noexcept override { return host_->steps(); }
    void set_steps(std::uint64_t steps) noexcept override { host_->set_steps(steps); }

private:
    void lay_out_memory(Stretches& memory) {
        remembered_.clear();
        for (const Memory& each : host_->memory())
            remembered_.push_back(memory.take<float>(each.values.size()));
        sums_ = memory.take<double>(squares_);
        factor_ = memory.take<float>(1);
    }
    void take_memory() {
        const std::vector<Memory> all = host_->memory();
        for (std::size_t i = 0; i < all.size(); ++i) {
            weights_->device().upload(remembered_[i], all[i].values.data(),
                                      all[i].values.size_bytes());
        }
        weights_->device().finish();
        current_ = true;
    }
    /// Where the factor of clipping lies; null: none.
    [[nodiscard]] const float* clip() {
        if (options_.clip <= 0) return nullptr;
        Device& device = weights_->device();
        device.run(SquareSums{weights_->gradient(), weights_->size(), squares_at_once, sums_},
                   squares_);
        device.run(ClipFactor{sums_, squares_, options_.clip, factor_}, 1);
        return factor_;
    }
    void update(const Stretch& of, float* values, const float* factor, double rate) {
        const double decay = of.decays ? options_.weight_decay : 0;
        const std::size_t items = pieces_of(of.count, weights_per_warp);
        if (options_.name == "sgd") {
            weights_->device().run(SgdStep{values + of.first, weights_->gradient() + of.first,
                                           remembered_[0] + of.first, of.count, factor,
                                           static_cast<float>(options_.momentum),
                                           static_cast<float>(decay), static_cast<float>(rate)},
                                   items);
            return;
        }
        const bool decoupled = options_.name == "adamw";
        const auto steps = static_cast<double>(host_->steps());
        const double correction = 1 - std::pow(options_.beta1, steps);
        AdamStep adam{};
        adam.weights = values + of.first;
        adam.gradient = weights_->gradient() + of.first;
        adam.mean = remembered_[0] + of.first;
        adam.square = remembered_[1] + of.first;
        adam.count = of.count;
        adam.factor = factor;
        adam.keep = static_cast<float>(decoupled ? 1 - rate * decay : 1.0);
        adam.pull = static_cast<float>(decoupled ? 0.0 : decay);
        adam.mix1 = static_cast<float>(1 - options_.beta1);
        adam.beta2 = static_cast<float>(options_.beta2);
        adam.mix2 = static_cast<float>(1 - options_.beta2);
        adam.epsilon = static_cast<float>(options_.epsilon);
        adam.root = static_cast<float>(std::sqrt(1 - std::pow(options_.beta2, steps)));
        adam.length = static_cast<float>(rate / correction);
        weights_->device().run(adam, items);
    }

    std::shared_ptr<DeviceWeights> weights_;
    OptimiserOptions options_;
    std::vector<Stretch> stretches_;
    std::unique_ptr<Optimiser> host_;  ///< whose memory is what checkpoints see
    DeviceMemory on_device_;
    std::size_t squares_;
    std::vector<float*> remembered_;
    double* sums_ = nullptr;
    float* factor_ = nullptr;
    bool current_ = false;  ///< the device's memory is
};

}  // namespace

std::unique_ptr<Optimiser> make_device_optimiser(const std::shared_ptr<DeviceWeights>& weights,
                                                 const OptimiserOptions& options,
                                                 std::span<const Parameter> parameters) {
    return std::make_unique<DeviceOptimiser>(weights, options, parameters,
                                             make_optimiser(options, parameters));
}

}  // namespace rudder::nn
