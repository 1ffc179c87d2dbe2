#include "generate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "graph/dataset_writer.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"

#include "planted.hpp"
#include "stand_ins.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t edges_per_chunk = 1 << 16;

template <class AnyEdge>
BuiltTopology build_from(const Generator& generator, Progress& progress) {
    auto edges = Array<AnyEdge>::uninitialised(generator.edges());
    progress.phase("drawing edges", edges.size());
    parallel_chunks(edges.size(), edges_per_chunk, [&](const Chunk& chunk) {
        generator.fill(chunk.begin, edges.span().subspan(chunk.begin, chunk.end - chunk.begin));
        progress.advance(chunk.end - chunk.begin);
    });
    EdgePayload payload;
    payload.types = generator.edge_types();
    return build_topology(EdgeSpan(generator.vertices(), edges.span()), payload, BuildOptions{},
                          progress);
}

/// The width of planted features.
std::uint64_t planted_width(const std::string& text, const char* remedy) {
    constexpr std::string_view planted = "planted:";
    const auto width = text.starts_with(planted)
                           ? parse_u64(std::string_view(text).substr(planted.size()))
                           : std::nullopt;
    if (width && *width != 0 && *width <= max_feature_width) return *width;
    throw usage_error(fmt::format("invalid features: '{}'", text), "--features", remedy);
}

std::unique_ptr<FeatureSource> choose_features(const GenerateOptions& options,
                                               const Generator& generator,
                                               const TopologyView& graph) {
    std::string text = options.features;
    if (text.empty()) text = generator.labels().empty() ? "none" : "planted:64";
    if (text == "none") return nullptr;
    if (auto made = made_features(text, graph, options.generator.seed)) return made;
    const std::uint64_t width =
        planted_width(text, "give planted:W, random:W, structure:W or none");
    if (generator.labels().empty()) {
        throw usage_error("this kind of graph has no classes to plant", "--features",
                          "give random:W or structure:W");
    }
    return std::make_unique<PlantedFeatures>(generator.labels(), width, options.signal,
                                             options.generator.seed);
}

/// Features of each of several types: the next type's are half as wide, and of streams of its own.
void write_type_features(const GenerateOptions& options, const Generator& generator,
                         DatasetWriter& writer, Progress& progress) {
    const std::string text = options.features.empty() ? "planted:64" : options.features;
    if (text == "none") return;
    std::uint64_t width = planted_width(text, "give planted:W or none for a typed graph");
    for (std::size_t t = 0; t < generator.types().vertices.size(); ++t) {
        const PlantedFeatures rows(generator.classes_of(t), width, options.signal,
                                   options.generator.seed + t);
        writer.type_features(t, rows, std::nullopt, false, progress);
        width = std::max<std::uint64_t>(1, width / 2);
    }
}

}  // namespace

BuiltTopology generate_topology(const Generator& generator, Progress& progress) {
    if (IdArray::needs_wide(generator.vertices())) return build_from<Edge>(generator, progress);
    return build_from<NarrowEdge>(generator, progress);
}

DatasetInfo generate_dataset(const GenerateOptions& options, Progress& progress) {
    const GenerateOptions shaped = is_stand_in(options.kind) ? stand_in_options(options) : options;
    const auto generator = make_generator(shaped.kind, shaped.generator);
    DatasetWriter writer(shaped.output, shaped.existing);
    const BuiltTopology built = generate_topology(*generator, progress);
    progress.phase("writing edges", 0);
    const bool typed = generator->types().present();
    if (typed) writer.types(generator->types());
    writer.topology(built, true);
    if (typed) {
        write_type_features(shaped, *generator, writer, progress);
    } else if (const auto features = choose_features(shaped, *generator, built.topology.view())) {
        writer.features(*features, std::nullopt, false, progress);
    }
    if (const auto labels = generator->labels(); !labels.empty()) {
        const TargetInfo info{.kind = TargetKind::classes, .count = shaped.generator.classes};
        const TargetView view{.classes = labels};
        writer.targets(info, view);
        const std::uint64_t seed = shaped.generator.seed;
        const SplitRule split = shaped.split.value_or(SplitFractions{});
        writer.split(make_split(generator->vertices(), info, view, split, seed).span());
    }
    progress.done();
    return writer.commit(shaped.provenance);
}

}  // namespace rudder::graph
