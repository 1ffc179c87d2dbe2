// Where feature rows come from: one abstract source, bodies for files, draws and structure.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rudder/core/function_ref.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/features.hpp"
#include "rudder/graph/topology.hpp"

namespace rudder::graph {

/// A wider row is taken for a mistake.
inline constexpr std::uint64_t max_feature_width = 1 << 20;

/// Feature rows that are given in order, in blocks, and never held whole unless the format forces
/// it.
class FeatureSource {
public:
    virtual ~FeatureSource() = default;
    /// Width and natural type: float32, float16, int8 (with a scale) or uint8.
    [[nodiscard]] virtual FeatureInfo info() const = 0;
    [[nodiscard]] virtual VertexId rows() const = 0;
    /// One scale per column for int8, else empty.
    [[nodiscard]] virtual std::span<const float> scale() const { return {}; }
    /// File and array, for messages.
    [[nodiscard]] virtual std::string where() const = 0;
    /// Gives all rows, in order, whole rows at a time.
    virtual void walk(FunctionRef<void(std::span<const std::byte>)> block) const = 0;
};

/// Rows of floats computed on all threads, a block at a time; a body says how one is computed.
class ComputedFeatures : public FeatureSource {
public:
    ComputedFeatures(VertexId rows, std::uint64_t width) : rows_(rows) { info_.width = width; }
    [[nodiscard]] FeatureInfo info() const override { return info_; }
    [[nodiscard]] VertexId rows() const override { return rows_; }
    void walk(FunctionRef<void(std::span<const std::byte>)> block) const override;

protected:
    /// Fills the row of v, which holds zeroes.
    virtual void compute(VertexId v, std::span<float> row) const = 0;

private:
    VertexId rows_;
    FeatureInfo info_;
};

/// The features that a text names: "random:W" or "structure:W"; null if it names neither, a usage
/// Error if the width is none.
[[nodiscard]] std::unique_ptr<FeatureSource> made_features(const std::string& text,
                                                           const TopologyView& graph,
                                                           std::uint64_t seed);

/// Normal draws, keyed by seed, row and column.
[[nodiscard]] std::unique_ptr<FeatureSource> random_features(VertexId rows, std::uint64_t width,
                                                             std::uint64_t seed);

/// What the graph's structure says of each vertex: its degree and its neighbours' (logarithms),
/// then random signs averaged twice over the vertex and its neighbours, so that vertices near each
/// other get similar rows. The view must outlive the source.
[[nodiscard]] std::unique_ptr<FeatureSource> structure_features(const TopologyView& graph,
                                                                std::uint64_t width,
                                                                std::uint64_t seed);

}  // namespace rudder::graph
