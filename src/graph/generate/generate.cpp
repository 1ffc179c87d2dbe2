#include "rudder/graph/generate/generate.hpp"

#include "rudder/core/parallel.hpp"
#include "rudder/graph/dataset_writer.hpp"
#include "rudder/graph/generate/planted.hpp"

namespace rudder {

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

/// Writes what the kind knows of its vertices: classes, features that carry them, a split.
void write_vertices(const GenerateOptions& options, const Generator& generator,
                    DatasetWriter& writer, Progress& progress) {
    const auto labels = generator.labels();
    const TargetInfo info{.kind = TargetKind::classes, .count = options.generator.classes};
    const TargetView view{.classes = labels};
    const PlantedFeatures planted{options.width, options.signal, options.generator.seed};
    writer.features(
        {.width = options.width, .type = ElementType::f32}, {},
        [&](VertexId first, std::span<std::byte> bytes) {
            const std::span rows(reinterpret_cast<float*>(bytes.data()), bytes.size() / 4);
            for (std::size_t at = 0; at < rows.size(); at += options.width, ++first) {
                planted.row(first, labels[first], rows.subspan(at, options.width));
            }
        },
        "generated features", progress);
    writer.targets(info, view);
    writer.split(
        make_split(generator.vertices(), info, view, options.split, options.generator.seed).span());
}

}  // namespace

BuiltTopology generate_topology(const Generator& generator, Progress& progress) {
    if (IdArray::needs_wide(generator.vertices())) return build_from<Edge>(generator, progress);
    return build_from<NarrowEdge>(generator, progress);
}

DatasetInfo generate_dataset(const GenerateOptions& options, Progress& progress) {
    const auto generator = make_generator(options.kind, options.generator);
    DatasetWriter writer(options.output, options.existing);
    writer.topology(generate_topology(*generator, progress), true);
    if (!generator->labels().empty()) write_vertices(options, *generator, writer, progress);
    progress.done();
    return writer.commit(options.made_by);
}

}  // namespace rudder
