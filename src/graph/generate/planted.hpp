// Planted communities (a stochastic block model): vertices of one class mostly know each other.
#pragma once

#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/random.hpp"
#include "rudder/graph/feature_source.hpp"

#include "generator.hpp"

namespace rudder::graph {

/// Each vertex has a random class; an edge stays inside its source's class with probability
/// `inside`; low positions are drawn more often, which skews the degrees.
class PlantedCommunities final : public EdgeByEdge<PlantedCommunities> {
public:
    explicit PlantedCommunities(const GeneratorOptions& options);
    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override { return edges_; }
    [[nodiscard]] std::span<const std::int32_t> labels() const override { return labels_.span(); }
    [[nodiscard]] Edge edge(EdgeIndex number) const;

private:
    void draw_labels(std::uint64_t seed);

    VertexId vertices_;
    EdgeIndex edges_;
    std::uint64_t classes_;
    double inside_;
    double skew_;
    RandomStream stream_;
    Array<std::int32_t> labels_;
    Array<VertexId> members_;      ///< vertices by class, shuffled by their labels' draw
    std::vector<VertexId> first_;  ///< where each class begins in members_
};

/// Feature rows that carry the class: its centroid times `signal` plus normal noise.
class PlantedFeatures final : public ComputedFeatures {
public:
    /// The labels must outlive it.
    PlantedFeatures(std::span<const std::int32_t> labels, std::uint64_t width, double signal,
                    std::uint64_t seed);
    [[nodiscard]] std::string where() const override { return "planted features"; }

protected:
    void compute(VertexId v, std::span<float> row) const override;

private:
    std::span<const std::int32_t> labels_;
    double signal_;
    RandomStream centroids_;
    RandomStream noise_;
};

}  // namespace rudder::graph
