// Planted communities (a stochastic block model): vertices of one community mostly know each other.
#pragma once

#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/random.hpp"
#include "rudder/graph/feature_source.hpp"

#include "generator.hpp"

namespace rudder::graph {

/// Refuses (usage Error) numbers of planted classes and shares that cannot be.
void check_planted(const GeneratorOptions& options);
/// A position below `count`: even for skew 1, low ones more often above.
[[nodiscard]] VertexId skewed(Draws& draws, VertexId count, double skew);

/// Each vertex has a random community, and each community a class; an edge stays inside its
/// source's community with probability `inside`; low positions are drawn more often, which skews
/// the degrees.
class PlantedCommunities final : public EdgeByEdge<PlantedCommunities> {
public:
    explicit PlantedCommunities(const GeneratorOptions& options);
    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override { return edges_; }
    [[nodiscard]] std::span<const std::int32_t> labels() const override {
        return communities_ == classes_ ? homes_.span() : labels_.span();
    }
    [[nodiscard]] Edge edge(EdgeIndex number) const;

private:
    /// An end of an edge: a position in a community.
    struct End {
        std::size_t community = 0;
        VertexId position = 0;
    };
    struct Ends {
        End source;
        End target;
    };
    void draw_homes(std::uint64_t seed);
    void draw_labels(std::uint64_t seed);
    [[nodiscard]] Ends ends(EdgeIndex number) const;
    [[nodiscard]] VertexId vertex(const End& end) const noexcept {
        return members_[first_[end.community] + end.position];
    }
    [[nodiscard]] VertexId size(std::size_t community) const noexcept {
        return first_[community + 1] - first_[community];
    }
    /// With which probability one draw joins these two, either way round.
    [[nodiscard]] double chance(const Ends& pair) const;
    /// How many edges must be drawn for so many distinct ones, about.
    [[nodiscard]] EdgeIndex draws_for(EdgeIndex distinct) const;

    VertexId vertices_;
    EdgeIndex edges_;
    std::uint64_t classes_;
    std::uint64_t communities_;
    double inside_;
    double skew_;
    RandomStream stream_;
    Array<std::int32_t> homes_;    ///< the community of each vertex
    Array<std::int32_t> labels_;   ///< their classes, unless each community is one
    Array<VertexId> members_;      ///< vertices by community, shuffled by the draw of their homes
    std::vector<VertexId> first_;  ///< where each community begins in members_
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
