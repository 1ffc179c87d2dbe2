// Which positions of a row are drawn: the keyed choice itself, apart from where rows lie.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/random.hpp"
#include "rudder/core/types.hpp"

namespace rudder::sample {

// The rule. Vertex v of degree d draws `fanout` = k positions. Its random words are those of the
// blocks (v, 0), (v, 1), ... of the stream, in order. Without replacement (k < d) it is Floyd's:
// for j = 0 ... k - 1 a position t below d - k + j + 1; where t is taken already, d - k + j
// instead. Every set of k positions is equally likely. With replacement, k positions below d. A
// number below n is the high half of (word * n): words have 32 bits, so its probability differs
// from 1 / n by less than 2^-32; for degrees of 2^32 and more they have 64.

/// Vertices whose draws are made side by side, one per lane of a vector.
inline constexpr std::size_t draw_lanes = 16;
/// The largest fan-out they are made so for: comparing all pairs grows with its square.
inline constexpr std::uint32_t lane_fanout_limit = 128;

struct alignas(64) LaneGroup {
    std::array<std::uint32_t, draw_lanes> low;   ///< of the vertices' ids
    std::array<std::uint32_t, draw_lanes> high;  ///< of the vertices' ids
    std::array<std::uint32_t, draw_lanes> degree;
};

/// positions[j * draw_lanes + lane] is draw j of that lane.
using LanePositions = std::array<std::uint32_t, lane_fanout_limit * draw_lanes>;

/// Instruction sets there is code for; all give the same positions.
enum class DrawCode : std::uint8_t { portable, avx2, avx512 };
/// The best that this machine has.
[[nodiscard]] DrawCode best_draw_code() noexcept;
/// Whether this machine can run it.
[[nodiscard]] bool can_run(DrawCode code) noexcept;

/// Draws for all lanes (those of no use are to be filled with anything); `fanout` is at most
/// lane_fanout_limit.
void draw_positions(DrawCode code, Philox::Key key, const LaneGroup& group, std::uint32_t fanout,
                    bool with_replacement, LanePositions& positions) noexcept;

/// The same for one vertex, any fan-out and any degree. Keeps its memory from draw to draw.
class SingleDraw {
public:
    /// As many positions as `out` has; without replacement fewer than `degree`.
    void draw(const RandomStream& stream, VertexId vertex, EdgeIndex degree, bool with_replacement,
              std::span<EdgeIndex> out);

private:
    /// Enters a position into the table; false if it was there.
    bool insert(EdgeIndex position) noexcept;

    std::vector<EdgeIndex> table_;  ///< open addressing; a power of two
};

}  // namespace rudder::sample
