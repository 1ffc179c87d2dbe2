#include "rudder/graph/io/import.hpp"

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/interrupt.hpp"
#include "rudder/core/log.hpp"
#include "rudder/core/staging.hpp"
#include "rudder/core/text.hpp"
#include "rudder/core/version.hpp"
#include "rudder/graph/io/graph_reader.hpp"

#include "feature_sources.hpp"
#include "feature_writer.hpp"
#include "target_builder.hpp"

namespace rudder {

namespace {

/// The W of "random:W"; nothing if the text does not begin with that word.
std::optional<std::uint64_t> made_width(const std::string& text, std::string_view word) {
    const std::string prefix = std::string(word) + ":";
    if (text != word && !text.starts_with(prefix)) return std::nullopt;
    const auto width =
        text == word ? std::nullopt : parse_u64(std::string_view(text).substr(prefix.size()));
    if (width && *width >= 1 && *width <= max_feature_width) return width;
    throw usage_error(
        fmt::format("'{}' names no features", text), "--features",
        fmt::format("give {}:W with a width W from 1 to {}", word, max_feature_width));
}

/// The features asked for, or the file's own; null where there are none.
std::unique_ptr<FeatureSource> choose_features(const ImportOptions& options, RawGraph& graph,
                                               const TopologyView& topology) {
    if (options.features.empty()) return std::move(graph.features);
    if (const auto width = made_width(options.features, "random")) {
        return random_features(graph.vertices, *width, options.seed);
    }
    if (const auto width = made_width(options.features, "structure")) {
        return structure_features(topology, *width, options.seed);
    }
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

void write_targets(ArrayFolderWriter& writer, const Targets& targets, VertexId vertices) {
    switch (targets.info.kind) {
        case TargetKind::none:
            break;
        case TargetKind::classes:
            writer.write("labels", targets.classes.span());
            break;
        case TargetKind::multilabel:
            writer.write("labels", ElementType::u8, {vertices, targets.info.count},
                         std::as_bytes(targets.multilabel.span()));
            break;
        case TargetKind::regression:
            writer.write("labels", ElementType::f32, {vertices, targets.info.count},
                         std::as_bytes(targets.regression.span()));
            break;
    }
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

Json describe_options(const ImportOptions& options, std::string_view format) {
    Json json = {{"input", options.input.filename().string()},
                 {"format", format},
                 {"directed", options.directed},
                 {"keep_self_loops", options.keep_self_loops},
                 {"keep_duplicates", options.keep_duplicates},
                 {"row_normalise", options.row_normalise},
                 {"seed", options.seed}};
    if (!options.features.empty()) json["features"] = options.features;
    if (!options.labels.empty()) json["labels"] = options.labels.filename().string();
    return json;
}

/// Builds the rows, frees what the reader held of the edges, and writes them.
Topology write_graph(ArrayFolderWriter& writer, RawGraph& graph, const ImportOptions& options,
                     DatasetInfo& info, Progress& progress) {
    const BuildOptions build{!options.directed, options.keep_self_loops, options.keep_duplicates};
    BuiltTopology built = build_topology(*graph.edges, build, progress);
    graph.edges.reset();
    progress.phase("writing edges", 0);
    write_topology(writer, built.topology.view());
    info.vertices = graph.vertices;
    info.edges = built.topology.edges();
    info.symmetric = !options.directed;
    info.self_loops = built.kept.self_loops;
    info.duplicates = built.kept.duplicates;
    return std::move(built.topology);
}

}  // namespace

DatasetInfo import_dataset(const ImportOptions& options, Progress& progress) {
    const std::string_view format =
        options.format == "auto" ? detect_graph_format(options.input) : options.format;
    const auto reader = make_graph_reader(format);
    Staging staging =
        Staging::folder(options.output, options.force ? Existing::replace : Existing::refuse);
    RawGraph graph = reader->read({options.input, options.vertices, options.id_bits}, progress);
    ArrayFolderWriter writer(staging.path());
    DatasetInfo info;
    {
        const Topology topology = write_graph(writer, graph, options, info, progress);
        if (const auto features = choose_features(options, graph, topology.view())) {
            info.features =
                write_features(writer, *features, info.vertices, options.feature_type, progress);
            info.features.row_normalise = options.row_normalise;
        }
    }
    const Targets targets = choose_targets(options, graph);
    info.targets = targets.info;
    write_targets(writer, targets, info.vertices);
    const Array<Role> roles = graph.roles ? std::move(*graph.roles)
                                          : make_split(info.vertices, targets.info, targets.view(),
                                                       options.split, options.seed);
    warn_unlabelled(targets, roles.span());
    info.split = count_split(roles.span());
    writer.write("split", ElementType::u8, {info.vertices}, std::as_bytes(roles.span()));

    Json manifest = {
        {"format", dataset_format},
        {"version", dataset_version},
        {"rudder", version()},
        {"made_by", {{"verb", "import"}, {"options", describe_options(options, format)}}}};
    describe(info, manifest);
    writer.finish(std::move(manifest));
    throw_if_interrupted();
    staging.commit();
    progress.done();
    return info;
}

}  // namespace rudder
