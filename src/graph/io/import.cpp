#include "import.hpp"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "graph/dataset_writer.hpp"
#include "graph/tables/import_tables.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/io/graph_reader.hpp"

#include "feature_sources.hpp"
#include "npz_types.hpp"
#include "target_builder.hpp"

namespace rudder::graph {

namespace {

/// The features asked for, or the file's own; null where there are none.
std::unique_ptr<FeatureSource> choose_features(const ImportOptions& options, RawGraph& graph,
                                               const TopologyView& topology) {
    if (options.features.empty()) return std::move(graph.features);
    if (auto made = made_features(options.features, topology, options.seed)) return made;
    const std::filesystem::path file = options.features;
    return dense_features([file] { return open_npy(file); });
}

Targets choose_targets(const ImportOptions& options, RawGraph& graph) {
    if (!options.labels.empty()) {
        NpyReader reader = open_npy(options.labels);
        return read_targets(reader, graph.vertices, {});
    }
    return graph.targets ? std::move(*graph.targets) : Targets{};
}

/// All rows of a source; those of int8 as floats.
struct CollectedRows {
    FeatureInfo info;
    Array<std::byte> bytes;
};

CollectedRows collect(const FeatureSource& source) {
    const FeatureInfo from = source.info();
    CollectedRows rows{{from.width, from.type, false}, {}};
    if (from.type == ElementType::i8) rows.info.type = ElementType::f32;
    rows.bytes = Array<std::byte>::uninitialised(
        checked_mul(source.rows(), rows.info.row_bytes(), "the size of the edges' features"));
    std::vector<float> row(from.width);
    std::size_t at = 0;
    source.walk([&](std::span<const std::byte> block) {
        if (from.type == rows.info.type) {
            std::memcpy(rows.bytes.data() + at, block.data(), block.size());
            at += block.size();
            return;
        }
        for (; !block.empty(); block = block.subspan(from.row_bytes())) {
            decode_row(from, block.first(from.row_bytes()), source.scale(), row);
            std::memcpy(rows.bytes.data() + at, row.data(), row.size() * sizeof(float));
            at += row.size() * sizeof(float);
        }
    });
    return rows;
}

BuiltTopology build_rows(const RawGraph& graph, std::span<const EdgesOfType> types,
                         const BuildOptions& options, Progress& progress) {
    if (!graph.edge_data.any() && types.empty())
        return build_topology(*graph.edges, options, progress);
    const auto* numbered = dynamic_cast<const NumberedEdges*>(graph.edges.get());
    RUDDER_CHECK(numbered != nullptr);
    EdgePayload payload = graph.edge_data.payload();
    payload.types = types;
    return build_topology(*numbered, payload, options, progress);
}

/// The split that is asked for, where the file gives none.
Array<Role> split_of(const ImportOptions& options, const RawGraph& graph, const Targets& targets) {
    const auto times =
        graph.vertex_times ? graph.vertex_times->span() : std::span<const std::int64_t>{};
    return make_split(graph.vertices, targets.info, targets.view(), options.split, options.seed,
                      times);
}

void warn_unlabelled(const Targets& targets, std::span<const Role> roles) {
    if (targets.info.kind == TargetKind::none) return;
    VertexId without = 0;
    for (VertexId v = 0; v < roles.size(); ++v) {
        if (roles[v] == Role::train && !is_labelled(targets.info, targets.view(), v)) ++without;
    }
    if (without == 0) return;
    log::warning(fmt::format("{} training vertices are not trained on: they have no label",
                             format_count(without)));
}

/// Builds the rows of a graph and writes it with all that was found beside it. `types` are those of
/// the edges where there are several.
void write_graph(RawGraph& graph, std::span<const EdgesOfType> types, const ImportOptions& options,
                 DatasetWriter& writer, Progress& progress) {
    if (graph.vertices > max_vertices) {
        throw input_error(fmt::format("{} vertices are too many", graph.vertices),
                          options.input.string(), fmt::format("give at most {}", max_vertices));
    }
    {
        const BuildOptions build{!options.directed, options.keep_self_loops,
                                 options.keep_duplicates};
        const BuiltTopology built = build_rows(graph, types, build, progress);
        graph.edges.reset();
        progress.phase("writing edges", 0);
        writer.topology(built, !options.directed);
        if (const FeatureSource* rows = graph.edge_data.features.get()) {
            const CollectedRows all = collect(*rows);
            writer.edge_features({all.info, rows->rows(), all.bytes.data(), {}},
                                 built.origin->span(), rows->where(), progress);
        }
        if (const auto& targets = graph.edge_data.targets)
            writer.edge_targets(targets->info, targets->view(), built.origin->span());
        if (const auto& roles = graph.edge_data.roles)
            writer.edge_split(roles->span(), built.origin->span());
        if (graph.vertex_times) writer.vertex_times(graph.vertex_times->span());
        if (built.weight && built.dropped.duplicates != 0) {
            log::info(fmt::format("{} entries were added to others of the same ends",
                                  format_count(built.dropped.duplicates)));
        }
        const auto features =
            types.empty() ? choose_features(options, graph, built.topology.view()) : nullptr;
        if (features) {
            writer.features(*features, options.feature_type, options.row_normalise, progress);
        }
    }
    const Targets targets = choose_targets(options, graph);
    writer.targets(targets.info, targets.view());
    const Array<Role> roles =
        graph.roles ? std::move(*graph.roles) : split_of(options, graph, targets);
    warn_unlabelled(targets, roles.span());
    writer.split(roles.span());
}

/// Types, and what is kept by type of vertices.
void write_types(TableGraph& tables, const ImportOptions& options, DatasetWriter& writer,
                 Progress& progress) {
    for (const auto& [name, given] : {std::pair{"--features", !options.features.empty()},
                                      std::pair{"--labels", !options.labels.empty()}}) {
        if (!given) continue;
        throw usage_error(fmt::format("{} does not go with a graph of several types", name), name,
                          "name columns in the schema, or give arrays by type");
    }
    writer.types(tables.types);
    for (std::size_t t = 0; t < tables.of_types.size(); ++t) {
        TableType& own = tables.of_types[t];
        if (own.ids.kind()) writer.type_ids(t, own.ids);
        if (own.features) {
            writer.type_features(t, *own.features, options.feature_type, options.row_normalise,
                                 progress);
        }
        own = {};
    }
}

}  // namespace

DatasetInfo import_dataset(const ImportOptions& options, Progress& progress) {
    const Existing existing = options.force ? Existing::replace : Existing::refuse;
    const auto finish = [&](DatasetWriter& writer) {
        throw_if_interrupted();
        progress.done();
        return writer.commit(options.provenance);
    };
    if (names_tables(options)) {
        DatasetWriter writer(options.output, existing);
        TableGraph tables = read_tables(options, writer.folder(), progress);
        writer.note("schema.toml", tables.schema);
        if (tables.types.present()) {
            write_types(tables, options, writer, progress);
        } else {
            writer.ids(tables.ids);
            tables.ids = {};
        }
        write_graph(tables.graph, tables.edge_types, options, writer, progress);
        return finish(writer);
    }
    const std::string_view format =
        options.format == "auto" ? detect_graph_format(options.input) : options.format;
    const auto reader = make_graph_reader(format);
    DatasetWriter writer(options.output, existing);
    if (auto typed = format == "npz" ? read_typed_npz(options) : std::nullopt) {
        write_types(*typed, options, writer, progress);
        write_graph(typed->graph, typed->edge_types, options, writer, progress);
        return finish(writer);
    }
    RawGraph graph = reader->read({options.input, options.vertices, options.id_bits}, progress);
    write_graph(graph, {}, options, writer, progress);
    return finish(writer);
}

}  // namespace rudder::graph
