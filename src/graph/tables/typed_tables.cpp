#include "typed_tables.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "graph/graph_types.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"

#include "table_parts.hpp"
#include "vertex_table.hpp"

namespace rudder::graph {

namespace {

/// The edges of several tables, one after the other.
class JoinedEdges final : public NumberedEdges {
public:
    explicit JoinedEdges(VertexId vertices) : vertices_(vertices) {}

    void add(std::unique_ptr<TableEdges> table) {
        first_.push_back(edges_);
        edges_ += table->edges();
        tables_.push_back(std::move(table));
    }
    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override { return edges_; }
    void walk_numbered(NarrowFrom narrow, WideFrom wide) const override {
        for (std::size_t t = 0; t < tables_.size(); ++t) {
            const EdgeIndex first = first_[t];
            const auto narrow_block = [&](std::span<const NarrowEdge> block, EdgeIndex number) {
                narrow(block, first + number);
            };
            const auto wide_block = [&](std::span<const Edge> block, EdgeIndex number) {
                wide(block, first + number);
            };
            tables_[t]->walk_numbered(NarrowFrom(narrow_block), WideFrom(wide_block));
        }
    }

private:
    VertexId vertices_;
    EdgeIndex edges_ = 0;
    std::vector<std::unique_ptr<TableEdges>> tables_;
    std::vector<EdgeIndex> first_;
};

/// Values of all vertices, of which a type brings some; others have `none`.
template <class T>
Array<T> spread(VertexId vertices, VertexId first, std::span<const T> own, T none,
                std::uint64_t columns = 1) {
    auto all = Array<T>::uninitialised(
        checked_mul(std::uint64_t{vertices}, columns, "the size of the labels"));
    std::fill(all.begin(), all.end(), none);
    std::copy(own.begin(), own.end(), all.begin() + first * columns);
    return all;
}

Targets spread_targets(VertexId vertices, VertexId first, const Targets& own) {
    Targets all;
    all.info = own.info;
    switch (own.info.kind) {
        case TargetKind::none:
            break;
        case TargetKind::classes:
            all.classes = spread(vertices, first, std::span(own.view().classes), no_label);
            break;
        case TargetKind::multilabel:
            all.multilabel = spread(vertices, first, std::span(own.view().multilabel),
                                    no_multilabel, own.info.count);
            break;
        case TargetKind::regression:
            all.regression = spread(vertices, first, std::span(own.view().regression),
                                    std::numeric_limits<float>::quiet_NaN(), own.info.count);
            break;
    }
    return all;
}

class TypedTables {
public:
    TypedTables(const TableSchema& schema, const ImportOptions& options,
                const std::shared_ptr<SpillRoom>& room, Progress& progress)
        : schema_(schema), options_(options), room_(room), progress_(progress) {}

    [[nodiscard]] TableGraph read() {
        refuse_mixtures();
        made_.schema = schema_text(schema_);
        read_vertices();
        name_edge_types();
        read_edges();
        return std::move(made_);
    }

private:
    [[nodiscard]] Error fault(std::string what, std::string remedy) const {
        return input_error(std::move(what), options_.input.string(), std::move(remedy));
    }

    /// What cannot be one graph.
    void refuse_mixtures() const {
        if (schema_.vertices.size() > most_types || 2 * schema_.edges.size() > most_types) {
            throw fault(fmt::format("{} types of vertices and {} of edges are too many",
                                    schema_.vertices.size(), schema_.edges.size()),
                        fmt::format("describe at most {} and {}", most_types, most_types / 2));
        }
        const auto labelled = std::ranges::count_if(
            schema_.vertices, [](const VertexTable& table) { return !table.label.empty(); });
        if (labelled > 1) {
            throw fault(fmt::format("{} types of vertices have labels", labelled),
                        "say label for the one type that is to be predicted");
        }
        for (const EdgeTable& table : schema_.edges) {
            const EdgeTable& first = schema_.edges.front();
            for (const auto& [name, differs] :
                 {std::pair{"weights", table.weight.empty() != first.weight.empty()},
                  std::pair{"times", table.time.empty() != first.time.empty()}}) {
                if (!differs) continue;
                throw fault(fmt::format("edges of one of the types '{}' and '{}' have {}, those of "
                                        "the other have none",
                                        first.type, table.type, name),
                            "give them to all types of edges, or to none");
            }
            for (const auto& [name, there] : {std::pair{"features", !table.features.empty()},
                                              std::pair{"label", !table.label.empty()},
                                              std::pair{"split", !table.split.empty()}}) {
                if (!there) continue;
                throw fault(fmt::format("edges of type '{}' have '{}', which is not supported in a "
                                        "graph of several types",
                                        table.type, name),
                            fmt::format("leave {} out of [[edges]]", name));
            }
        }
    }

    void read_vertices() {
        VertexId first = 0;
        std::vector<ReadVertices> read;
        for (const VertexTable& table : schema_.vertices) {
            const Table file(matching_files(table.files, {}));
            ReadVertices& own = read.emplace_back(
                read_vertex_table(file, table, options_.missing, room_, progress_));
            VertexType type;
            type.name = table.type;
            type.first = first;
            type.vertices = own.ids.size();
            first = checked_add(first, type.vertices, "number of vertices");
            made_.types.vertices.push_back(std::move(type));
            made_.of_types.push_back({std::move(own.ids), std::move(own.features)});
            maps_.push_back(nullptr);
        }
        for (std::size_t t = 0; t < read.size(); ++t) {
            progress_.phase("mapping ids", 0);
            const Table file(matching_files(schema_.vertices[t].files, {}));
            maps_[t] = map_ids(made_.of_types[t].ids, file, schema_.vertices[t]);
        }
        made_.graph.vertices = first;
        for (std::size_t t = 0; t < read.size(); ++t)
            take(read[t], made_.types.vertices[t].first);
    }

    /// Labels, split and times of one type, among those of all vertices.
    void take(ReadVertices& own, VertexId first) {
        const VertexId vertices = made_.graph.vertices;
        if (own.targets) made_.graph.targets = spread_targets(vertices, first, *own.targets);
        if (own.roles) {
            if (!made_.graph.roles)
                made_.graph.roles = spread(vertices, first, std::span<const Role>{}, Role::none);
            std::ranges::copy(own.roles->span(), made_.graph.roles->begin() + first);
        }
        if (own.times) {
            if (!made_.graph.vertex_times) {
                made_.graph.vertex_times =
                    spread(vertices, first, std::span<const std::int64_t>{}, no_time);
            }
            std::ranges::copy(own.times->span(), made_.graph.vertex_times->begin() + first);
        }
    }

    [[nodiscard]] std::size_t end_type(const std::string& name) const {
        return name.empty() ? 0 : *made_.types.vertex_type(name);
    }

    /// The types of the tables, each with that of its edges the other way behind all of them.
    void name_edge_types() {
        for (const EdgeTable& table : schema_.edges) {
            EdgeType type;
            type.name = table.type;
            type.from = end_type(table.from);
            type.to = end_type(table.to);
            made_.types.edges.push_back(std::move(type));
        }
        reverse_.resize(schema_.edges.size());
        for (std::size_t t = 0; t < schema_.edges.size(); ++t) {
            const EdgeType type = made_.types.edges[t];
            reverse_[t] = t;
            if (options_.directed || type.from == type.to) continue;
            const std::string name = "rev_" + type.name;
            if (made_.types.edge_type(name)) {
                throw fault(fmt::format("edges of type '{}' go back as '{}', of which there is a "
                                        "table",
                                        type.name, name),
                            "rename the type of that table, or import with --directed");
            }
            check_type_name(name, options_.input.string());
            reverse_[t] = made_.types.edges.size();
            made_.types.edges.push_back({name, type.to, type.from, 0, t});
        }
    }

    void read_edges() {
        auto all = std::make_unique<JoinedEdges>(made_.graph.vertices);
        std::vector<RawEdgeData> carried;
        for (std::size_t t = 0; t < schema_.edges.size(); ++t) {
            const EdgeType& type = made_.types.edges[t];
            const VertexType& from = made_.types.vertices[type.from];
            const VertexType& to = made_.types.vertices[type.to];
            const EdgeEnds ends{
                {*maps_[type.from], from.first}, {*maps_[type.to], to.first}, made_.graph.vertices};
            const Table file(matching_files(schema_.edges[t].files, {}));
            auto edges = read_edge_table(file, schema_.edges[t], ends, options_.unknown,
                                         options_.missing, room_, progress_);
            warn_dropped(*edges, type.name);
            made_.edge_types.push_back({all->edges(), static_cast<std::uint8_t>(t),
                                        static_cast<std::uint8_t>(reverse_[t]), to.first,
                                        to.first + to.vertices});
            carried.push_back(edges->take_data());
            all->add(std::move(edges));
        }
        if (carried.front().weight)
            made_.graph.edge_data.weight = join(carried, &RawEdgeData::weight);
        if (carried.front().time) made_.graph.edge_data.time = join(carried, &RawEdgeData::time);
        made_.graph.edges = std::move(all);
    }

    template <class T>
    static Array<T> join(std::vector<RawEdgeData>& carried,
                         std::optional<Array<T>> RawEdgeData::*member) {
        std::size_t count = 0;
        for (const RawEdgeData& data : carried)
            count += (data.*member)->size();
        auto all = Array<T>::uninitialised(count);
        auto at = all.begin();
        for (RawEdgeData& data : carried) {
            at = std::copy((data.*member)->begin(), (data.*member)->end(), at);
            (data.*member).reset();
        }
        return all;
    }

    const TableSchema& schema_;
    const ImportOptions& options_;
    const std::shared_ptr<SpillRoom>& room_;
    Progress& progress_;
    TableGraph made_;
    std::vector<std::unique_ptr<IdMap>> maps_;  ///< by type of vertices
    std::vector<std::size_t> reverse_;          ///< by table of edges
};

}  // namespace

TableGraph read_typed_tables(const TableSchema& schema, const ImportOptions& options,
                             const std::shared_ptr<SpillRoom>& room, Progress& progress) {
    return TypedTables(schema, options, room, progress).read();
}

}  // namespace rudder::graph
