// Draws by weight, keyed, and what each drawn entry counts in a weighted mean.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/random.hpp"
#include "rudder/core/types.hpp"

namespace rudder::sample {

// The rule. Entry i of a row has the number u = (2 x + 1) / 2^53, where x are the first 52 bits of
// the i-th 64-bit draw of its vertex. With a weight w above 0 it arrives at the time -log(u) / w;
// with weight 0 never. A vertex keeps the k entries that arrive first, ties by place, in the order
// of its row: as if they were drawn one after the other, each with the probability that its weight
// has among those left. A kept entry counts w / (1 - exp(-w T)) where T is when the first one
// arrives that was not kept, so that sums over those kept are on average the weighted sums over the
// row; where all are kept it counts w. Shares are what they count, divided by its sum.
//
// With replacement k numbers u are drawn, and each takes the first entry whose weight, added to all
// before it, exceeds u times the sum of all; each counts the same.
//
// Logarithm and power are our own, of basic operations alone: the same on every machine.

/// -log(u) for 0 < u < 1.
[[nodiscard]] double minus_log(double u) noexcept;
/// 1 - exp(-x) for x >= 0.
[[nodiscard]] double one_minus_exp(double x) noexcept;

/// Draws for one vertex after the other. Keeps its memory from draw to draw.
class WeightedDraw {
public:
    /// Positions in the row of `weights`, ascending unless drawn with replacement; `fanout` below 0
    /// takes all whose weight is above 0.
    void draw(const RandomStream& stream, VertexId vertex, std::span<const float> weights,
              std::int32_t fanout, bool with_replacement);
    /// Takes these positions, without those of weight 0.
    void take(std::span<const float> weights, EdgeIndex first, EdgeIndex last);

    [[nodiscard]] std::span<const EdgeIndex> positions() const noexcept { return positions_; }
    /// By position; they add up to 1.
    [[nodiscard]] std::span<const float> shares() const noexcept { return shares_; }

private:
    struct Arrival {
        double time;
        EdgeIndex position;
    };

    void race(const RandomStream& stream, VertexId vertex, std::span<const float> weights,
              std::size_t wanted);
    void draw_again(const RandomStream& stream, VertexId vertex, std::span<const float> weights,
                    std::size_t wanted);
    /// Turns what each position counts into shares.
    void share_out();

    std::vector<Arrival> arrivals_;
    std::vector<double> counts_;  ///< of positions; or running sums
    std::vector<EdgeIndex> positions_;
    std::vector<float> shares_;
};

}  // namespace rudder::sample
