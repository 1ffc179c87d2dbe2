// R-MAT (Chakrabarti et al., SDM 2004): edges drawn by recursive choice of a quadrant.
#pragma once

#include <array>

#include "rudder/core/random.hpp"

#include "generator.hpp"

namespace rudder::graph {

/// Power-law degrees on 2^scale vertices, whose ids are permuted so that hubs lie anywhere.
class Rmat final : public Generator {
public:
    explicit Rmat(const GeneratorOptions& options);
    [[nodiscard]] VertexId vertices() const override { return VertexId{1} << scale_; }
    [[nodiscard]] EdgeIndex edges() const override { return edges_; }
    void fill(EdgeIndex first, std::span<NarrowEdge> out) const override;
    void fill(EdgeIndex first, std::span<Edge> out) const override;

private:
    /// Permutes the ids of [0, 2^scale): a keyed bijection of odd multiplications and shifts.
    [[nodiscard]] VertexId permuted(VertexId v) const noexcept;

    template <class AnyEdge>
    void fill_any(EdgeIndex first, std::span<AnyEdge> out) const;

    int scale_;
    EdgeIndex edges_;
    std::array<std::uint32_t, 3> limits_;  ///< a, a+b, a+b+c in units of 2^-16
    RandomStream stream_;
    std::array<std::uint64_t, 2> multipliers_;
};

}  // namespace rudder::graph
