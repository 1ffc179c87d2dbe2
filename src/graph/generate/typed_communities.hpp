// A graph of several types with planted classes: papers that cite and reject papers, their authors,
// the venues they appear in.
#pragma once

#include <array>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/random.hpp"

#include "generator.hpp"

namespace rudder::graph {

/// Every vertex has a class, of which only that of papers is told. An edge is drawn for its target,
/// any vertex; with chance `inside` its source is of the class that the type of edge asks for (that
/// of the target, or of `rejects` the next one), else any. So who mixes the types of edges up sees
/// less than who keeps them apart.
class TypedCommunities final : public EdgeByEdge<TypedCommunities> {
public:
    explicit TypedCommunities(const GeneratorOptions& options);

    [[nodiscard]] VertexId vertices() const override;
    [[nodiscard]] EdgeIndex edges() const override { return edges_; }
    /// Those of papers; others have none.
    [[nodiscard]] std::span<const std::int32_t> labels() const override { return labels_.span(); }
    [[nodiscard]] const GraphTypes& types() const override { return types_; }
    [[nodiscard]] std::span<const EdgesOfType> edge_types() const override { return of_types_; }
    [[nodiscard]] std::span<const std::int32_t> classes_of(std::size_t type) const override {
        const VertexType& of = types_.vertices[type];
        return classes_.span().subspan(of.first, of.vertices);
    }
    [[nodiscard]] Edge edge(EdgeIndex number) const;

private:
    void add_types(const GeneratorOptions& options);
    void draw_classes(std::uint64_t seed);
    [[nodiscard]] VertexId source_of(Draws& draws, VertexId target, std::size_t type) const;

    std::uint64_t class_count_;
    double inside_;
    double skew_;
    RandomStream stream_;
    EdgeIndex edges_ = 0;
    GraphTypes types_;
    std::vector<EdgesOfType> of_types_;
    Array<std::int32_t> classes_;
    Array<std::int32_t> labels_;
    Array<VertexId> members_;      ///< by type, then class
    std::vector<VertexId> first_;  ///< where those of each type and class begin
};

}  // namespace rudder::graph
