// Linear layers in fixed chunks: the bits of products and gradients never depend on threads.
#pragma once

#include <cstddef>
#include <span>

#include "rudder/nn/matmul.hpp"

namespace rudder::nn {

/// Rows of a product that one thread computes at a time: few enough to stay in its cache between
/// the steps of a layer, enough for the product to run at full speed.
inline constexpr std::size_t chunk_rows = 256;

/// How the rows of a layer are dealt out for its gradient: each lane, a fixed stretch of rows, has
/// a partial sum of its own, and the partial sums are added in the order of the lanes.
struct Lanes {
    explicit Lanes(std::size_t row_count) noexcept;
    /// The most lanes that so many rows, or fewer, are dealt out to.
    [[nodiscard]] static std::size_t most(std::size_t rows) noexcept;
    std::size_t rows;
    std::size_t size;  ///< rows per lane, a multiple of 64
    std::size_t count;
};

/// The partial sums of all lanes: of weights (outputs x inputs) and biases.
class LaneSums {
public:
    LaneSums(float* memory, const Lanes& lanes, std::size_t outputs, std::size_t inputs) noexcept
        : memory_(memory), lanes_(lanes), outputs_(outputs), inputs_(inputs) {}
    /// How many floats of memory, which must be 64-byte aligned, they take.
    [[nodiscard]] static std::size_t floats(const Lanes& lanes, std::size_t outputs,
                                            std::size_t inputs) noexcept {
        return lanes.count * lane_floats(outputs, inputs);
    }

    /// Adds what rows of outputs' gradient and inputs give, to one lane; the first call for a lane
    /// also clears it. One thread per lane at a time.
    void add(std::size_t lane, bool first, const ConstMatrix& gradient,
             const ConstMatrix& inputs) const;

    /// Where a stretch of the inputs' columns goes in the flat gradient: outputs x columns.
    struct Stretch {
        std::size_t first;
        std::size_t columns;
        float* gradient;
    };
    /// Outputs that come in groups, each filled up to `padded` of which `used` count.
    struct Groups {
        std::size_t used = 1;
        std::size_t padded = 1;
    };
    /// Adds up the lanes, on all threads, into the stretches and the bias (null: nowhere), without
    /// the outputs that fill up groups.
    void finish(std::span<const Stretch> stretches, float* bias, Groups groups) const;
    void finish(std::span<const Stretch> stretches, float* bias) const {
        finish(stretches, bias, {});
    }

private:
    [[nodiscard]] static std::size_t lane_floats(std::size_t outputs, std::size_t inputs) noexcept {
        return outputs * aligned_columns(inputs) + aligned_columns(outputs);
    }
    [[nodiscard]] float* weights(std::size_t lane) const noexcept {
        return memory_ + lane * lane_floats(outputs_, inputs_);
    }
    [[nodiscard]] float* bias(std::size_t lane) const noexcept {
        return weights(lane) + outputs_ * aligned_columns(inputs_);
    }

    float* memory_;
    Lanes lanes_;
    std::size_t outputs_;
    std::size_t inputs_;
};

/// Partial sums of columns, one per lane: of biases and of what is scaled by column.
class LaneColumns {
public:
    LaneColumns(float* memory, const Lanes& lanes, std::size_t columns) noexcept
        : memory_(memory), lanes_(lanes.count), columns_(columns) {}
    [[nodiscard]] static std::size_t floats(const Lanes& lanes, std::size_t columns) noexcept {
        return lanes.count * aligned_columns(columns);
    }
    /// The sums of a lane; whoever uses it first sets them.
    [[nodiscard]] float* lane(std::size_t index) const noexcept {
        return memory_ + index * aligned_columns(columns_);
    }
    void clear(std::size_t index) const noexcept;
    /// Adds rows to a lane.
    void add(std::size_t index, const ConstMatrix& rows) const noexcept;
    /// Adds rows times others, element by element, to a lane.
    void add_products(std::size_t index, const ConstMatrix& rows,
                      const ConstMatrix& others) const noexcept;
    /// Adds up the lanes in order.
    void finish(float* out) const noexcept;

private:
    float* memory_;
    std::size_t lanes_;
    std::size_t columns_;
};

}  // namespace rudder::nn
