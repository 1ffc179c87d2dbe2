// The model itself: tokens in, how likely each next one is out.
#pragma once

#include <span>
#include <vector>

#include "core/huge_vector.hpp"
#include "rudder/core/function_ref.hpp"

#include "kernels.hpp"
#include "steering_model.hpp"

namespace rudder::steer {

/// A matrix in panels of 16 outputs, as PanelProduct wants them.
struct PanelMatrix {
    HugeVector<float> panels;
    std::size_t outputs = 0;
    std::size_t inputs = 0;

    PanelMatrix() = default;
    PanelMatrix(std::span<const float> rows, std::size_t depth);
};

/// Weights as they are computed with; never changed.
class Transformer {
public:
    explicit Transformer(const SteeringModel& model, KernelPath path = best_kernel_path());

    [[nodiscard]] const ModelShape& shape() const noexcept { return shape_; }

private:
    friend class Reading;
    struct Layer {
        HugeVector<float> attn_norm, ffn_norm;
        PanelMatrix query, key, value, attn_output, gate, up, down;
    };

    ModelShape shape_;
    const ModelKernels* kernels_;
    HugeVector<float> embedding_;  ///< rows padded to panels
    HugeVector<float> output_norm_;
    std::vector<Layer> layers_;
    /// Cosine and sine by position and pair of a head.
    std::vector<float> rotations_;
};

/// What one conversation has read: keys and values of its tokens. What it computes of a token
/// depends on the tokens before it alone, bit for bit, however they were cut into calls and blocks.
class Reading {
public:
    static constexpr std::size_t usual_block = 64;

    /// The transformer must outlive it. Tokens are read in blocks of so many.
    explicit Reading(const Transformer& transformer, std::size_t block = usual_block);

    [[nodiscard]] std::span<const TokenId> tokens() const noexcept { return tokens_; }
    /// Forgets all but the first ones.
    void keep(std::size_t count);
    /// Reads on; all must fit into the context. `go_on` is asked before each block; where it says
    /// no, what is read by then stays, and the result is false.
    bool read(std::span<const TokenId> tokens, FunctionRef<bool()> go_on);
    /// Of tokens that may come behind the last one read. `read` must have been called since `keep`.
    void logits(std::span<const TokenId> next, std::span<float> out) const;

private:
    void read_block(std::span<const TokenId> tokens);
    void attend(std::size_t layer, std::size_t count);
    void feed_forward(std::size_t layer, std::size_t count);
    void add_rows(const HugeVector<float>& rows, std::size_t stride, std::size_t count);
    void rotate(float* row, std::size_t heads, std::size_t position) const;
    void remember(std::size_t layer, std::size_t count);
    void multiply(const PanelMatrix& matrix, const HugeVector<float>& x, std::size_t x_stride,
                  HugeVector<float>& y, std::size_t y_stride, std::size_t count) const;
    [[nodiscard]] float* keys(std::size_t layer, std::size_t kv_head);
    [[nodiscard]] float* values(std::size_t layer, std::size_t kv_head);

    const Transformer* of_;
    std::size_t block_;
    std::size_t width_;  ///< these three in panels
    std::size_t hidden_;
    std::size_t context_;
    std::vector<TokenId> tokens_;
    HugeVector<float> keys_;    ///< by layer and head: panels of positions
    HugeVector<float> values_;  ///< by layer and head: panels of a head's columns
    // Of the present block, by token.
    HugeVector<float> x_, normed_, query_, key_, value_, mixed_, gate_, up_, scores_;
    std::vector<float> last_;  ///< the last token's, normed
};

}  // namespace rudder::steer
