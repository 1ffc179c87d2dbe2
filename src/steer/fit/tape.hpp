// A tape of operations on small matrices, played back for gradients.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/random.hpp"

#include "adam.hpp"

namespace rudder::steer {

/// All weights of a network, flat, with their gradient.
struct TapeWeights {
    std::vector<float> values;
    std::vector<float> gradient;
    std::vector<WeightRange> list;
    std::vector<std::string> names;  ///< of the list

    /// Adds one; its offset. Drawn uniformly within plus and minus `bound`, or all `fill`.
    std::size_t add(const std::string& name, std::size_t rows, std::size_t columns, float fill);
    void draw(std::size_t parameter_offset, std::size_t count, double bound, Draws& draws);
};

/// A batch norm: its factor and shift among the weights, and what it saw.
struct TapeNorm {
    std::size_t columns = 0;
    std::size_t factor = 0;  ///< offsets
    std::size_t shift = 0;
    float momentum = 0.1F;  ///< what a new batch weighs in the running statistics
    std::vector<float> mean;
    std::vector<float> variance;
};

/// One matrix on the tape.
struct TapeValue {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<float> v;
    std::vector<float> g;
    [[nodiscard]] const float* row(std::size_t r) const { return v.data() + r * columns; }
};

/// Some rows of a matrix.
struct RowRange {
    std::size_t begin;
    std::size_t end;
};

/// Records while it computes; `backward` adds to the gradient of the weights. One use per batch.
class Tape {
public:
    /// In training, norms use the batch's own statistics and dropout drops.
    Tape(TapeWeights& weights, bool training) : weights_(weights), training_(training) {}

    using Var = TapeValue*;
    Var input(std::span<const float> values, std::size_t rows, std::size_t columns);
    Var constant(std::size_t rows, std::size_t columns, float value);
    /// x times the transpose of a matrix of weights [outputs][x.columns].
    Var linear(Var x, std::size_t weights, std::size_t outputs);
    Var add_bias(Var x, std::size_t bias);
    /// Over groups of at most `group` rows (0: all together).
    Var norm(Var x, TapeNorm& norm, std::size_t group);
    Var relu(Var x);
    Var dropout(Var x, double share, Draws& draws);
    /// The first half of the columns times the sigmoid of the second.
    Var gated(Var x);
    /// (a + b) times a number.
    Var sum(Var a, Var b, float times);
    Var product(Var a, Var b);
    Var slice(Var x, std::size_t from, std::size_t count);
    Var sparsemax(Var x);
    /// a * (number - b).
    Var faded(Var a, float number, Var b);
    /// Mean weighted logistic loss of the only column.
    double logistic(Var logits, std::span<const std::uint8_t> y, std::span<const float> weight);
    /// Adds `times` the mean entropy of the rows to the loss.
    double entropy(Var shares, double times);

    void backward();

private:
    Var make(std::size_t rows, std::size_t columns);
    Var norm_by_memory(Var x, const TapeNorm& norm);
    void norm_group(Var x, Var out, TapeNorm& norm, const RowRange& rows);

    TapeWeights& weights_;
    bool training_;
    std::deque<TapeValue> values_;
    std::vector<std::function<void()>> back_;
};

}  // namespace rudder::steer
