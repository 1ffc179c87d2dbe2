#include "typed_communities.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "planted.hpp"

namespace rudder::graph {

namespace {

constexpr double typed_degree = 10;
constexpr std::size_t drawn_per_chunk = 1 << 14;
constexpr VertexId vertices_per_venue = 50;

/// A type of edges as it is drawn.
struct DrawnType {
    const char* name;
    std::size_t from;
    std::size_t to;
    double share;         ///< of all edges
    std::uint64_t shift;  ///< of the source's class from the target's
};

enum Kind : std::size_t { paper, author, venue };

constexpr std::array<DrawnType, 4> drawn_types{{
    {"cites", paper, paper, 0.4, 0},
    {"rejects", paper, paper, 0.2, 1},
    {"writes", author, paper, 0.3, 0},
    {"appears_in", paper, venue, 0.1, 0},
}};

}  // namespace

TypedCommunities::TypedCommunities(const GeneratorOptions& o)
    : class_count_(o.classes),
      inside_(o.inside),
      skew_(o.skew),
      stream_({.purpose = Purpose::generate_edges, .seed = o.seed}) {
    check_planted(o);
    if (o.communities != 0) {
        throw usage_error("a typed graph has one community for each class", "--communities",
                          "leave it out");
    }
    if (o.vertices < 3) {
        throw usage_error("a typed graph needs a vertex of each type", "--vertices",
                          "give a number from 3 on");
    }
    add_types(o);
    draw_classes(o.seed);
}

void TypedCommunities::add_types(const GeneratorOptions& o) {
    const VertexId papers = o.vertices / 2;
    const VertexId venues = std::max<VertexId>(1, o.vertices / vertices_per_venue);
    const auto add = [this](const char* name, VertexId vertices) {
        VertexType type;
        type.name = name;
        type.first = this->vertices();
        type.vertices = vertices;
        types_.vertices.push_back(std::move(type));
    };
    add("paper", papers);
    add("author", o.vertices - papers - venues);
    add("venue", venues);
    const double all = (o.degree > 0 ? o.degree : typed_degree) * static_cast<double>(o.vertices);
    std::vector<EdgeType> back;
    for (const DrawnType& drawn : drawn_types) {
        const std::size_t number = types_.edges.size();
        const VertexType& to = types_.vertices[drawn.to];
        std::size_t reverse = number;
        if (drawn.from != drawn.to) {
            reverse = drawn_types.size() + back.size();
            back.push_back({fmt::format("rev_{}", drawn.name), drawn.to, drawn.from, 0, number});
        }
        of_types_.push_back({edges_, static_cast<std::uint8_t>(number),
                             static_cast<std::uint8_t>(reverse), to.first, to.first + to.vertices});
        types_.edges.push_back({drawn.name, drawn.from, drawn.to, 0, std::nullopt});
        edges_ += static_cast<EdgeIndex>(all * drawn.share);
    }
    types_.edges.insert(types_.edges.end(), back.begin(), back.end());
}

VertexId TypedCommunities::vertices() const {
    if (types_.vertices.empty()) return 0;
    return types_.vertices.back().first + types_.vertices.back().vertices;
}

void TypedCommunities::draw_classes(std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::generate_labels, .seed = seed});
    classes_ = Array<std::int32_t>::uninitialised(vertices());
    labels_ = Array<std::int32_t>::uninitialised(vertices());
    const VertexId papers = types_.vertices[paper].vertices;
    parallel_chunks(vertices(), drawn_per_chunk, [&](const Chunk& chunk) {
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            classes_[v] = static_cast<std::int32_t>(Draws(stream, v).below(class_count_));
            labels_[v] = v < papers ? classes_[v] : no_label;
        }
    });
    first_.assign(types_.vertices.size() * class_count_ + 1, 0);
    const auto group = [&](std::size_t type, VertexId v) {
        return type * class_count_ + static_cast<std::size_t>(classes_[v]);
    };
    const auto each = [&](auto&& body) {
        for (std::size_t t = 0; t < types_.vertices.size(); ++t) {
            const VertexType& type = types_.vertices[t];
            for (VertexId v = type.first; v < type.first + type.vertices; ++v)
                body(group(t, v), v);
        }
    };
    each([&](std::size_t of, VertexId) { ++first_[of + 1]; });
    for (std::size_t i = 1; i < first_.size(); ++i)
        first_[i] += first_[i - 1];
    members_ = Array<VertexId>::uninitialised(vertices());
    std::vector<VertexId> next(first_.begin(), first_.end() - 1);
    each([&](std::size_t of, VertexId v) { members_[next[of]++] = v; });
}

VertexId TypedCommunities::source_of(Draws& draws, VertexId target, std::size_t type) const {
    const DrawnType& drawn = drawn_types[type];
    const VertexType& from = types_.vertices[drawn.from];
    const bool stays = draws.uniform() < inside_;
    const auto wanted = (static_cast<std::uint64_t>(classes_[target]) + drawn.shift) % class_count_;
    const std::size_t group = drawn.from * class_count_ + wanted;
    const VertexId count = first_[group + 1] - first_[group];
    if (!stays || count == 0) return from.first + draws.below(from.vertices);
    return members_[first_[group] + skewed(draws, count, skew_)];
}

Edge TypedCommunities::edge(EdgeIndex number) const {
    const auto after = std::ranges::upper_bound(of_types_, number, {}, &EdgesOfType::first);
    const auto type = static_cast<std::size_t>(after - of_types_.begin()) - 1;
    const VertexType& to = types_.vertices[drawn_types[type].to];
    Draws draws(stream_, number);
    const VertexId target = to.first + draws.below(to.vertices);
    const VertexId source = source_of(draws, target, type);
    return {source, target};
}

}  // namespace rudder::graph
