// The two networks over rows of numbers, on the tape.
#pragma once

#include <array>
#include <vector>

#include "tabular.hpp"
#include "tape.hpp"

namespace rudder::steer {

/// What fitting changes; copied to remember it.
struct TabularState {
    TapeWeights weights;
    std::vector<TapeNorm> norms;
};

/// What both have: a state, and a pass over a batch.
class TabularNetwork : public TabularState {
public:
    [[nodiscard]] TabularState& state() noexcept { return *this; }
    struct Pass {
        Tape::Var logits;
        double loss;
    };
    explicit TabularNetwork(std::size_t inputs) : columns(inputs) {}
    TabularNetwork(TabularNetwork&&) = delete;
    virtual ~TabularNetwork() = default;
    virtual Pass pass(Tape& tape, const TabularData& batch, Draws& draws) = 0;

    const std::size_t columns;

protected:
    std::size_t add_linear(const std::string& name, std::size_t outputs, std::size_t inputs,
                           double bound, Draws& draws);
    std::size_t add_norm(const std::string& name, std::size_t width, float momentum);
    /// The norm as factor and shift, by its running statistics.
    [[nodiscard]] std::pair<std::vector<float>, std::vector<float>> folded(
        const TapeNorm& norm) const;
    [[nodiscard]] std::span<const float> values(std::size_t offset, std::size_t count) const {
        return std::span(weights.values).subspan(offset, count);
    }
};

class MlpNetwork final : public TabularNetwork {
public:
    MlpNetwork(std::size_t inputs, std::uint64_t seed);
    Pass pass(Tape& tape, const TabularData& batch, Draws& draws) override;
    [[nodiscard]] std::vector<NamedArray> arrays() const;

    static constexpr std::array<std::size_t, 4> widths{128, 128, 64, 32};

private:
    std::array<std::size_t, widths.size()> linear_{};
    std::array<std::size_t, widths.size()> bias_{};
    std::array<std::size_t, widths.size()> norm_{};
    std::size_t last_ = 0;
    std::size_t last_bias_ = 0;
};

class TabNetNetwork final : public TabularNetwork {
public:
    TabNetNetwork(std::size_t inputs, std::uint64_t seed);
    Pass pass(Tape& tape, const TabularData& batch, Draws& draws) override;
    [[nodiscard]] std::vector<NamedArray> arrays() const;

    static constexpr std::size_t width = 64;  ///< n_d = n_a
    static constexpr std::size_t both = 2 * width;
    static constexpr std::size_t gates = 2 * both;
    static constexpr std::size_t steps = 5;
    static constexpr float gamma = 1.5F;
    static constexpr std::size_t ghost = 128;  ///< rows that are normalised together
    static constexpr double sparsity = 1e-3;   ///< what the masks' entropy weighs in the loss

private:
    struct Step {
        std::array<std::size_t, 4> norm;  ///< of the gated layers
        std::array<std::size_t, 2> own;
        std::size_t attend = 0;
        std::size_t attend_norm = 0;
    };
    Tape::Var transform(Tape& tape, Tape::Var x, const Step& step);

    std::size_t input_norm_ = 0;
    std::array<std::size_t, 2> shared_{};
    std::array<Step, steps + 1> step_{};
    std::size_t last_ = 0;
    std::size_t last_bias_ = 0;
};

}  // namespace rudder::steer
