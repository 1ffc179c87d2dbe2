// Edges, data sets and round trips of the fuzzers.
#include "graphs.hpp"

#include <algorithm>
#include <tuple>

#include "graph/generate/generate.hpp"
#include "graph/io/export.hpp"

namespace rudder::fuzz {

PlainGraph plain(const graph::RawGraph& raw) {
    PlainGraph all{raw.vertices, {}};
    const auto add = [&](const auto block) {
        for (const auto& edge : block) {
            FUZZ_EXPECT(edge.source < raw.vertices && edge.target < raw.vertices);
            all.edges.push_back({edge.source, edge.target});
        }
    };
    raw.edges->walk([&](std::span<const graph::NarrowEdge> block) { add(block); },
                    [&](std::span<const graph::Edge> block) { add(block); });
    FUZZ_EXPECT(all.edges.size() == raw.edges->edges());
    std::sort(all.edges.begin(), all.edges.end(), [](const auto& a, const auto& b) {
        return std::tie(a.source, a.target) < std::tie(b.source, b.target);
    });
    return all;
}

PlainGraph read_plain(const std::string& format, const std::filesystem::path& file) {
    return plain(graph::make_graph_reader(format)->read({.input = file}, Progress::none()));
}

std::filesystem::path make_dataset(const std::string& name, const std::string& kind) {
    graph::GenerateOptions options;
    options.kind = kind;
    options.output = scratch() / name;
    options.existing = Existing::replace;
    options.generator.vertices = 20;
    options.generator.degree = 3;
    options.generator.classes = 3;
    options.features = kind == "sbm" ? "planted:3" : "random:2";
    generate_dataset(options, Progress::none());
    return options.output;
}

void expect_same(const graph::Dataset& a, const graph::Dataset& b) {
    FUZZ_EXPECT(a.info().vertices == b.info().vertices);
    FUZZ_EXPECT(a.info().edges == b.info().edges);
    FUZZ_EXPECT(same_bits(a.topology().offsets, b.topology().offsets));
    FUZZ_EXPECT(same_bytes(a.topology().neighbours.as_bytes(), b.topology().neighbours.as_bytes()));
    FUZZ_EXPECT(a.info().self_loops == b.info().self_loops);
    FUZZ_EXPECT(a.info().duplicates == b.info().duplicates);
    FUZZ_EXPECT(a.info().features.width == b.info().features.width);
    FUZZ_EXPECT(a.info().features.type == b.info().features.type);
    FUZZ_EXPECT(same_bytes(a.features().bytes(), b.features().bytes()));
    FUZZ_EXPECT(same_bits(a.features().scale, b.features().scale));
    FUZZ_EXPECT(a.info().targets.kind == b.info().targets.kind);
    FUZZ_EXPECT(a.info().targets.count == b.info().targets.count);
    FUZZ_EXPECT(a.info().targets.labelled == b.info().targets.labelled);
    FUZZ_EXPECT(a.info().targets.names == b.info().targets.names);
    FUZZ_EXPECT(same_bits(a.targets().classes, b.targets().classes));
    FUZZ_EXPECT(same_bits(a.targets().multilabel, b.targets().multilabel));
    FUZZ_EXPECT(same_bits(a.targets().regression, b.targets().regression));
    FUZZ_EXPECT(a.info().split == b.info().split);
    FUZZ_EXPECT(same_bits(a.roles(), b.roles()));
}

void round_trip(const graph::ImportOptions& given) {
    graph::ImportOptions options = given;
    options.force = true;
    options.output = scratch() / "first";
    import_dataset(options);
    const graph::Dataset first(options.output);
    try {
        first.check();
        graph::export_dataset({options.output, scratch() / "again.npz", true});
        options.input = scratch() / "again.npz";
        options.format = "npz";
        options.vertices.reset();
        options.output = scratch() / "second";
        import_dataset(options);
        const graph::Dataset second(options.output);
        second.check();
        expect_same(first, second);
    } catch (const Error& error) {
        std::fprintf(stderr, "what was imported is refused: %s\n", error.what());
        FUZZ_EXPECT(false);
    }
}

}  // namespace rudder::fuzz
