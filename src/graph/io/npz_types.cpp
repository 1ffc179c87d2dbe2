// Archives of graphs of several types, as `rudder export` writes them.
#include "npz_types.hpp"

#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "graph/graph_types.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/core/text.hpp"

#include "edge_blocks.hpp"
#include "target_builder.hpp"

namespace rudder::graph {

namespace {

/// Edges in another order than they were given in.
class MovedEdges final : public NumberedEdges {
public:
    /// `places` says where each edge of the source comes.
    MovedEdges(const NumberedEdges& from, std::span<const EdgeIndex> places)
        : vertices_(from.vertices()) {
        const auto fill = [&](auto& edges) {
            edges.resize(from.edges());
            const auto put = [&](const auto& block, EdgeIndex number) {
                using Kept = std::remove_reference_t<decltype(edges[0])>;
                for (std::size_t i = 0; i < block.size(); ++i) {
                    edges[places[number + i]] =
                        Kept{static_cast<decltype(Kept::source)>(block[i].source),
                             static_cast<decltype(Kept::target)>(block[i].target)};
                }
            };
            from.walk_numbered(NumberedEdges::NarrowFrom(put), NumberedEdges::WideFrom(put));
        };
        if (IdArray::needs_wide(vertices_)) {
            fill(wide_);
        } else {
            fill(narrow_);
        }
    }
    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override { return narrow_.size() + wide_.size(); }
    void walk_numbered(NarrowFrom narrow, WideFrom wide) const override {
        if (wide_.empty()) {
            EdgeSpan(vertices_, std::span(narrow_)).walk_numbered(narrow, wide);
        } else {
            EdgeSpan(vertices_, std::span(wide_)).walk_numbered(narrow, wide);
        }
    }
    [[nodiscard]] Edge at(EdgeIndex e) const {
        return wide_.empty() ? Edge{narrow_[e].source, narrow_[e].target} : wide_[e];
    }

private:
    VertexId vertices_;
    RawVector<NarrowEdge> narrow_;
    RawVector<Edge> wide_;
};

class TypedArchive {
public:
    TypedArchive(const ImportOptions& options, SharedArchive archive)
        : options_(options), archive_(std::move(archive)) {}

    [[nodiscard]] TableGraph read() {
        read_vertices();
        read_edge_types();
        read_edges();
        for (const VertexType& type : made_.types.vertices) {
            made_.of_types.push_back({});
            made_.of_types.back().features = features_of(type.name);
        }
        made_.graph.roles = read_npz_split(*archive_, made_.graph.vertices);
        made_.graph.vertex_times = read_npz_times(*archive_, made_.graph.vertices);
        read_labels();
        return std::move(made_);
    }

private:
    [[nodiscard]] Error fault(const char* array, std::string what, std::string remedy) const {
        return input_error(std::move(what), archive_->where(array), std::move(remedy));
    }
    [[nodiscard]] std::vector<std::string> texts(const char* array) const {
        NpyReader reader = archive_->open(array);
        std::vector<std::string> all = read_texts(reader);
        if (!all.empty() && all.size() <= most_types) return all;
        throw fault(array, fmt::format("{} types", all.size()),
                    fmt::format("name 1 to {}", most_types));
    }
    /// Numbers of types, each below a limit.
    [[nodiscard]] Array<std::int64_t> numbers(const char* array, std::size_t limit) const {
        NpyReader reader = archive_->open(array);
        Array<std::int64_t> all = read_integers(reader);
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i] >= 0 && std::cmp_less(all[i], limit)) continue;
            throw fault(array, fmt::format("invalid type: {} at position {}", all[i], i),
                        fmt::format("give numbers from 0 to {}", limit - 1));
        }
        return all;
    }

    void read_vertices() {
        VertexId first = 0;
        for (std::string& name : texts("node_types")) {
            check_type_name(name, archive_->where("node_types"));
            if (made_.types.vertex_type(name))
                throw fault("node_types", fmt::format("type '{}' occurs twice", name), "rename it");
            made_.types.vertices.push_back({std::move(name), 0, 0, {}, 0});
        }
        const auto of = numbers("node_type", made_.types.vertices.size());
        for (std::size_t v = 0; v < of.size(); ++v) {
            if (v != 0 && of[v] < of[v - 1]) {
                throw fault("node_type", fmt::format("types descend at position {}", v),
                            "number the vertices type after type");
            }
            ++made_.types.vertices[static_cast<std::size_t>(of[v])].vertices;
        }
        for (VertexType& type : made_.types.vertices) {
            type.first = first;
            first += type.vertices;
        }
        made_.graph.vertices = first;
    }

    [[nodiscard]] std::size_t end_type(std::string_view name) const {
        if (const auto type = made_.types.vertex_type(name)) return *type;
        throw fault("edge_types", fmt::format("unknown type of vertices '{}'", name),
                    "name it in node_types");
    }

    /// As "from name to".
    void read_edge_types() {
        for (const std::string& text : texts("edge_types")) {
            const auto words = rudder::split(text, ' ');
            if (words.size() != 3) {
                throw fault("edge_types", fmt::format("invalid type of edges: '{}'", text),
                            "give 'FROM NAME TO'");
            }
            check_type_name(words[1], archive_->where("edge_types"));
            if (made_.types.edge_type(words[1])) {
                throw fault("edge_types", fmt::format("type '{}' occurs twice", words[1]),
                            "give each type of edges a name of its own");
            }
            EdgeType type;
            type.name = words[1];
            type.from = end_type(words[0]);
            type.to = end_type(words[2]);
            made_.types.edges.push_back(std::move(type));
        }
    }

    /// Sets which type edges of each type go back as, and adds those that are not named.
    void name_reverse(std::span<const EdgeIndex> counts) {
        reverse_.resize(counts.size());
        for (std::size_t t = 0; t < counts.size(); ++t) {
            const EdgeType type = made_.types.edges[t];
            reverse_[t] = t;
            if (options_.directed || type.from == type.to || type.reverse_of) continue;
            const std::string name = "rev_" + type.name;
            const auto known = made_.types.edge_type(name);
            if (!known) {
                check_type_name(name, archive_->where("edge_types"));
                reverse_[t] = made_.types.edges.size();
                if (reverse_[t] == most_types)
                    throw fault("edge_types", "too many types of edges", "import with --directed");
                made_.types.edges.push_back({name, type.to, type.from, 0, t});
                continue;
            }
            EdgeType& back = made_.types.edges[*known];
            if (back.from != type.to || back.to != type.from ||
                (*known < counts.size() && counts[*known] != 0)) {
                throw fault("edge_types",
                            fmt::format("edges of type '{}' go back as '{}', which has edges or "
                                        "ends of its own",
                                        type.name, name),
                            "rename that type, or import with --directed");
            }
            back.reverse_of = t;
            reverse_[t] = *known;
        }
    }

    void read_edges() {
        const auto given = read_npz_edges(*archive_, made_.graph.vertices);
        const auto* edges = dynamic_cast<const NumberedEdges*>(given.get());
        RUDDER_CHECK(edges != nullptr);
        const auto types = numbers("edge_type", made_.types.edges.size());
        if (types.size() != edges->edges()) {
            throw fault("edge_type",
                        fmt::format("{} types for {} edges", types.size(), edges->edges()),
                        "give one for each edge");
        }
        std::vector<EdgeIndex> counts(made_.types.edges.size(), 0);
        for (const std::int64_t type : types)
            ++counts[static_cast<std::size_t>(type)];
        std::vector<EdgeIndex> next(counts.size(), 0);
        for (std::size_t t = 1; t < counts.size(); ++t)
            next[t] = next[t - 1] + counts[t - 1];
        const std::vector<EdgeIndex> first = next;
        auto places = Array<EdgeIndex>::uninitialised(types.size());
        for (std::size_t e = 0; e < types.size(); ++e)
            places[e] = next[static_cast<std::size_t>(types[e])]++;
        auto moved = std::make_unique<MovedEdges>(*edges, places.span());
        check_ends(*moved, types.span(), places.span());
        name_reverse(counts);
        for (std::size_t t = 0; t < counts.size(); ++t) {
            const VertexType& to = made_.types.vertices[made_.types.edges[t].to];
            if (made_.types.edges[t].reverse_of) continue;
            made_.edge_types.push_back({first[t], static_cast<std::uint8_t>(t),
                                        static_cast<std::uint8_t>(reverse_[t]), to.first,
                                        to.first + to.vertices});
        }
        made_.graph.edges = std::move(moved);
        read_edge_data(places.span());
    }

    void check_ends(const MovedEdges& edges, std::span<const std::int64_t> types,
                    std::span<const EdgeIndex> places) const {
        const auto inside = [&](std::size_t type, VertexId v) {
            const VertexType& of = made_.types.vertices[type];
            return v >= of.first && v - of.first < of.vertices;
        };
        for (std::size_t e = 0; e < types.size(); ++e) {
            const EdgeType& type = made_.types.edges[static_cast<std::size_t>(types[e])];
            const Edge edge = edges.at(places[e]);
            if (inside(type.from, edge.source) && inside(type.to, edge.target)) continue;
            throw fault("edge_type",
                        fmt::format("edge {} from {} to {} is of type '{}', which joins '{}' to "
                                    "'{}'",
                                    e, edge.source, edge.target, type.name,
                                    made_.types.vertices[type.from].name,
                                    made_.types.vertices[type.to].name),
                        "correct its type or its ends");
        }
    }

    template <class T>
    [[nodiscard]] static Array<T> moved(const Array<T>& values, std::span<const EdgeIndex> places) {
        auto all = Array<T>::uninitialised(values.size());
        for (std::size_t e = 0; e < values.size(); ++e)
            all[places[e]] = values[e];
        return all;
    }

    void read_edge_data(std::span<const EdgeIndex> places) {
        const RawEdgeData given = read_npz_edge_data(archive_, places.size());
        if (given.payload().rows) {
            throw input_error(
                "features, labels or a split of edges are not supported in a graph "
                "of several types",
                archive_->path().string(), "leave them out");
        }
        if (given.weight) made_.graph.edge_data.weight = moved(*given.weight, places);
        if (given.time) made_.graph.edge_data.time = moved(*given.time, places);
    }

    /// Null: the type has none.
    [[nodiscard]] std::unique_ptr<FeatureSource> features_of(const std::string& type) const {
        const std::string plain = "x_" + type;
        const auto open = [archive = archive_](const std::string& name) {
            return [archive, name] { return archive->open(name); };
        };
        if (archive_->has(plain)) return dense_features(open(plain));
        if (!archive_->has(plain + "_int8")) return nullptr;
        Array<float> scale;
        if (archive_->has(plain + "_scale")) {
            NpyReader reader = archive_->open(plain + "_scale");
            scale = read_floats(reader);
        }
        return dense_features(open(plain + "_int8"), std::move(scale));
    }

    void read_labels() {
        const auto name = archive_->first_of({"y", "label", "labels", "node_label"});
        if (name.empty()) return;
        NpyReader reader = archive_->open(name);
        made_.graph.targets =
            read_targets(reader, made_.graph.vertices, npz_target_hints(*archive_));
        const Targets& targets = *made_.graph.targets;
        std::optional<std::size_t> labelled;
        for (VertexId v = 0; v < made_.graph.vertices; ++v) {
            if (!is_labelled(targets.info, targets.view(), v)) continue;
            const std::size_t type = made_.types.of(v);
            if (labelled && *labelled != type) {
                throw fault(name.c_str(),
                            fmt::format("vertices of the types '{}' and '{}' have labels",
                                        made_.types.vertices[*labelled].name,
                                        made_.types.vertices[type].name),
                            "label the one type that is to be predicted");
            }
            labelled = type;
        }
    }

    const ImportOptions& options_;
    SharedArchive archive_;
    TableGraph made_;
    std::vector<std::size_t> reverse_;  ///< by type of edges that is named
};

}  // namespace

std::optional<TableGraph> read_typed_npz(const ImportOptions& options) {
    auto archive = std::make_shared<const NpzArchive>(options.input);
    if (!archive->has("node_types")) return std::nullopt;
    if (options.vertices) {
        throw usage_error("--vertices does not go with a graph of several types", "--vertices",
                          "leave it out");
    }
    return TypedArchive(options, std::move(archive)).read();
}

}  // namespace rudder::graph
