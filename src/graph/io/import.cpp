#include "import.hpp"

#include <fmt/format.h>

#include "core/interrupt.hpp"
#include "core/log.hpp"
#include "graph/dataset_writer.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/graph/io/graph_reader.hpp"

#include "feature_sources.hpp"
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

void warn_unlabelled(const Targets& targets, std::span<const Role> roles) {
    if (targets.info.kind == TargetKind::none) return;
    VertexId without = 0;
    for (VertexId v = 0; v < roles.size(); ++v) {
        if (roles[v] == Role::train && !is_labelled(targets.info, targets.view(), v)) ++without;
    }
    if (without == 0) return;
    log::warning(fmt::format("{} training vertices have no label", format_count(without)));
}

}  // namespace

DatasetInfo import_dataset(const ImportOptions& options, Progress& progress) {
    const std::string_view format =
        options.format == "auto" ? detect_graph_format(options.input) : options.format;
    const auto reader = make_graph_reader(format);
    DatasetWriter writer(options.output, options.force ? Existing::replace : Existing::refuse);
    RawGraph graph = reader->read({options.input, options.vertices, options.id_bits}, progress);
    if (graph.vertices > max_vertices) {
        throw input_error(fmt::format("{} vertices are too many", graph.vertices),
                          options.input.string(), fmt::format("give at most {}", max_vertices));
    }
    {
        const BuildOptions build{!options.directed, options.keep_self_loops,
                                 options.keep_duplicates};
        const BuiltTopology built = build_topology(*graph.edges, build, progress);
        graph.edges.reset();
        progress.phase("writing edges", 0);
        writer.topology(built, !options.directed);
        if (const auto features = choose_features(options, graph, built.topology.view())) {
            writer.features(*features, options.feature_type, options.row_normalise, progress);
        }
    }
    const Targets targets = choose_targets(options, graph);
    writer.targets(targets.info, targets.view());
    const Array<Role> roles = graph.roles ? std::move(*graph.roles)
                                          : make_split(graph.vertices, targets.info, targets.view(),
                                                       options.split, options.seed);
    warn_unlabelled(targets, roles.span());
    writer.split(roles.span());
    throw_if_interrupted();
    progress.done();
    return writer.commit(options.provenance);
}

}  // namespace rudder::graph
