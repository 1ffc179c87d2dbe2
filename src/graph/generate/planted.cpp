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
/// Draws that tell how many of all will be distinct; and how many times as many may be needed.
constexpr EdgeIndex pilot_draws = 1 << 16;
constexpr EdgeIndex most_draws = 64;

}  // namespace

void check_planted(const GeneratorOptions& o) {
    if (o.classes == 0 || o.classes > 1'000'000) {
        throw usage_error(fmt::format("{} classes", o.classes), "--classes", "give 1 to 1,000,000");
    }
    if (o.communities > 10'000'000) {
        throw usage_error(fmt::format("{} communities", o.communities), "--communities",
                          "give 0 to 10,000,000");
    }
    if (!(o.inside >= 0 && o.inside <= 1)) {
        throw usage_error(fmt::format("invalid share of edges inside a community: {}", o.inside),
                          "--inside", "give 0 to 1");
    }
    if (!(o.skew >= 1 && o.skew <= 10)) {
        throw usage_error(fmt::format("invalid skew: {}", o.skew), "--skew", "give 1 to 10");
    }
}

VertexId skewed(Draws& draws, VertexId count, double skew) {
    const double u = std::pow(draws.uniform(), skew);
    return std::min(count - 1, static_cast<VertexId>(u * static_cast<double>(count)));
}

PlantedCommunities::PlantedCommunities(const GeneratorOptions& o)
    : vertices_(o.vertices),
      edges_(o.vertices < 2 ? 0
                            : static_cast<EdgeIndex>((o.degree > 0 ? o.degree : planted_degree) *
                                                     static_cast<double>(o.vertices))),
      classes_(o.classes),
      communities_(o.communities == 0 ? o.classes : o.communities),
      inside_(o.inside),
      skew_(o.skew),
      stream_({.purpose = Purpose::generate_edges, .seed = o.seed}) {
    check_planted(o);
    draw_homes(o.seed);
    if (communities_ != classes_) draw_labels(o.seed);
    if (o.distinct_edges > 0) edges_ = vertices_ < 2 ? 0 : draws_for(o.distinct_edges);
}

void PlantedCommunities::draw_homes(std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::generate_labels, .seed = seed});
    homes_ = Array<std::int32_t>::uninitialised(vertices_);
    parallel_chunks(vertices_, vertices_per_chunk, [&](const Chunk& chunk) {
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            homes_[v] = static_cast<std::int32_t>(Draws(stream, v).below(communities_));
        }
    });
    first_.assign(communities_ + 1, 0);
    for (const std::int32_t home : homes_)
        ++first_[static_cast<std::size_t>(home) + 1];
    for (std::size_t c = 0; c < communities_; ++c)
        first_[c + 1] += first_[c];
    members_ = Array<VertexId>::uninitialised(vertices_);
    std::vector<VertexId> next(first_.begin(), first_.end() - 1);
    for (VertexId v = 0; v < vertices_; ++v) {
        members_[next[static_cast<std::size_t>(homes_[v])]++] = v;
    }
}

/// Community m is of class m modulo the classes; where there are fewer communities than classes,
/// its vertices are of class m, m + communities, ..., each with the same chance.
void PlantedCommunities::draw_labels(std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::generate_labels, .seed = seed, .layer = 1});
    labels_ = Array<std::int32_t>::uninitialised(vertices_);
    parallel_chunks(vertices_, vertices_per_chunk, [&](const Chunk& chunk) {
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            const auto home = static_cast<std::uint64_t>(homes_[v]);
            std::uint64_t label = home % classes_;
            if (communities_ < classes_) {
                const std::uint64_t choices = (classes_ - 1 - home) / communities_ + 1;
                label = home + communities_ * Draws(stream, v).below(choices);
            }
            labels_[v] = static_cast<std::int32_t>(label);
        }
    });
}

PlantedCommunities::Ends PlantedCommunities::ends(EdgeIndex number) const {
    Draws draws(stream_, number);
    const bool stays = draws.uniform() < inside_;
    // The source's community follows the sizes; inside a community low positions are popular.
    const VertexId any = draws.below(vertices_);
    const auto home = static_cast<std::size_t>(homes_[any]);
    const auto member = [&](std::size_t c) { return End{c, skewed(draws, size(c), skew_)}; };
    const End source = member(home);
    if (stays) return {source, member(home)};
    return {source, member(static_cast<std::size_t>(homes_[draws.below(vertices_)]))};
}

Edge PlantedCommunities::edge(EdgeIndex number) const {
    const Ends drawn = ends(number);
    return {vertex(drawn.source), vertex(drawn.target)};
}

double PlantedCommunities::chance(const Ends& pair) const {
    const auto at = [&](const End& end) {
        const auto count = static_cast<double>(size(end.community));
        const auto position = static_cast<double>(end.position);
        return std::pow((position + 1) / count, 1 / skew_) - std::pow(position / count, 1 / skew_);
    };
    const auto share = [&](const End& end) {
        return static_cast<double>(size(end.community)) / static_cast<double>(vertices_);
    };
    const double target = pair.source.community == pair.target.community ? inside_ : 0;
    return 2 * at(pair.source) * at(pair.target) * share(pair.source) *
           (target + (1 - inside_) * share(pair.target));
}

/// A draw whose pair is expected x times in all counts for (1 - exp(-x)) / x of an edge, so that
/// the mean of that over a few draws says how many of all are distinct.
EdgeIndex PlantedCommunities::draws_for(EdgeIndex distinct) const {
    std::vector<double> chances(pilot_draws);
    parallel_chunks(pilot_draws, vertices_per_chunk, [&](const Chunk& chunk) {
        for (EdgeIndex number = chunk.begin; number < chunk.end; ++number) {
            const Ends drawn = ends(number);
            const bool loop = vertex(drawn.source) == vertex(drawn.target);
            chances[number] = loop ? 0 : chance(drawn);
        }
    });
    const auto expected = [&](double draws) {
        double sum = 0;
        for (const double each : chances) {
            if (each > 0) sum += -std::expm1(-draws * each) / each;
        }
        return sum / static_cast<double>(pilot_draws);
    };
    const auto wanted = static_cast<double>(distinct);
    double low = wanted;
    double high = wanted * static_cast<double>(most_draws);
    if (expected(high) < wanted) {
        throw usage_error(fmt::format("{} vertices in {} communities have no room for {} edges",
                                      vertices_, communities_, distinct),
                          "--scale", "give a larger scale");
    }
    while (high - low > 0.5) {
        const double middle = (low + high) / 2;
        (expected(middle) < wanted ? low : high) = middle;
    }
    return static_cast<EdgeIndex>(std::llround(high));
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
