#include "planted.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::graph {

namespace {

constexpr double planted_degree = 10;
constexpr std::size_t vertices_per_chunk = 1 << 14;

/// A position below `count`: even for skew 1, low ones more often above.
VertexId skewed(Draws& draws, VertexId count, double skew) {
    const double u = std::pow(draws.uniform(), skew);
    return std::min(count - 1, static_cast<VertexId>(u * static_cast<double>(count)));
}

}  // namespace

PlantedCommunities::PlantedCommunities(const GeneratorOptions& o)
    : vertices_(o.vertices),
      edges_(o.vertices < 2 ? 0
                            : static_cast<EdgeIndex>((o.degree > 0 ? o.degree : planted_degree) *
                                                     static_cast<double>(o.vertices))),
      classes_(o.classes),
      inside_(o.inside),
      skew_(o.skew),
      stream_({.purpose = Purpose::generate_edges, .seed = o.seed}) {
    if (classes_ == 0 || classes_ > 1'000'000) {
        throw usage_error(fmt::format("{} classes", classes_), "--classes", "give 1 to 1,000,000");
    }
    if (!(inside_ >= 0 && inside_ <= 1)) {
        throw usage_error(fmt::format("invalid share of edges inside a class: {}", inside_),
                          "--inside", "give 0 to 1");
    }
    if (!(skew_ >= 1 && skew_ <= 10)) {
        throw usage_error(fmt::format("invalid skew: {}", skew_), "--skew", "give 1 to 10");
    }
    draw_labels(o.seed);
}

void PlantedCommunities::draw_labels(std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::generate_labels, .seed = seed});
    labels_ = Array<std::int32_t>::uninitialised(vertices_);
    parallel_chunks(vertices_, vertices_per_chunk, [&](const Chunk& chunk) {
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            labels_[v] = static_cast<std::int32_t>(Draws(stream, v).below(classes_));
        }
    });
    first_.assign(classes_ + 1, 0);
    for (const std::int32_t label : labels_)
        ++first_[static_cast<std::size_t>(label) + 1];
    for (std::size_t c = 0; c < classes_; ++c)
        first_[c + 1] += first_[c];
    members_ = Array<VertexId>::uninitialised(vertices_);
    std::vector<VertexId> next(first_.begin(), first_.end() - 1);
    for (VertexId v = 0; v < vertices_; ++v) {
        members_[next[static_cast<std::size_t>(labels_[v])]++] = v;
    }
}

Edge PlantedCommunities::edge(EdgeIndex number) const {
    Draws draws(stream_, number);
    const bool stays = draws.uniform() < inside_;
    // The source's class follows the classes' sizes; inside a class low positions are popular.
    const VertexId any = draws.below(vertices_);
    const auto home = static_cast<std::size_t>(labels_[any]);
    const auto member = [&](std::size_t c) {
        return members_[first_[c] + skewed(draws, first_[c + 1] - first_[c], skew_)];
    };
    const VertexId source = member(home);
    if (stays) return {source, member(home)};
    return {source, member(static_cast<std::size_t>(labels_[draws.below(vertices_)]))};
}

PlantedFeatures::PlantedFeatures(std::span<const std::int32_t> labels, std::uint64_t width,
                                 double signal, std::uint64_t seed)
    : ComputedFeatures(labels.size(), width),
      labels_(labels),
      signal_(signal),
      centroids_({.purpose = Purpose::generate_features, .seed = seed, .layer = 1}),
      noise_({.purpose = Purpose::generate_features, .seed = seed}) {
    if (!(signal >= 0 && signal <= 1e6)) {
        throw usage_error(fmt::format("invalid signal: {}", signal), "--signal",
                          "give a number from 0 to 1,000,000");
    }
}

void PlantedFeatures::compute(VertexId v, std::span<float> row) const {
    Draws centroid(centroids_, static_cast<VertexId>(labels_[v]));
    Draws own(noise_, v);
    for (float& value : row) {
        value = static_cast<float>(signal_ * centroid.normal() + own.normal());
    }
}

}  // namespace rudder::graph
