#include "generate.hpp"

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
    return build_topology(EdgeSpan(generator.vertices(), edges.span()), BuildOptions{}, progress);
}

std::unique_ptr<FeatureSource> choose_features(const GenerateOptions& options,
                                               const Generator& generator,
                                               const TopologyView& graph) {
    constexpr std::string_view planted = "planted:";
    std::string text = options.features;
    if (text.empty()) text = generator.labels().empty() ? "none" : "planted:64";
    if (text == "none") return nullptr;
    if (auto made = made_features(text, graph, options.generator.seed)) return made;
    const auto width = text.starts_with(planted)
                           ? parse_u64(std::string_view(text).substr(planted.size()))
                           : std::nullopt;
    if (!width || *width == 0 || *width > max_feature_width) {
        throw usage_error(fmt::format("invalid features: '{}'", text), "--features",
                          "give planted:W, random:W, structure:W or none");
    }
    if (generator.labels().empty()) {
        throw usage_error("this kind of graph has no classes to plant", "--features",
                          "give random:W or structure:W");
    }
    return std::make_unique<PlantedFeatures>(generator.labels(), *width, options.signal,
                                             options.generator.seed);
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
    writer.topology(built, true);
    if (const auto features = choose_features(shaped, *generator, built.topology.view())) {
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
