// Data sets: a folder that passes every check, exported and imported again, is equal; its
// manifest's facts come back from the manifest they are written into.
#include "core/json.hpp"
#include "graph/io/export.hpp"

#include "graphs.hpp"

namespace rudder::fuzz {

void check(std::string_view bytes) {
    const auto folder = unbundle(bytes, "data");
    seal_arrays(folder);
    const graph::Dataset data(folder);
    Json facts = Json::object();
    describe(data.info(), facts);
    Json again = Json::object();
    describe(graph::dataset_info(facts, "facts"), again);
    FUZZ_EXPECT(facts == again);
    data.check();
    if (data.info().vertices > most_vertices || data.info().vertices == 0) return;
    graph::export_dataset({folder, scratch() / "out.npz", true});
    graph::ImportOptions options{.input = scratch() / "out.npz", .output = scratch() / "again"};
    options.format = "npz";
    options.directed = !data.info().symmetric;
    options.keep_self_loops = true;
    options.keep_duplicates = true;
    options.row_normalise = data.info().features.row_normalise;
    if (data.info().features.type == ElementType::bf16) options.feature_type = ElementType::bf16;
    options.force = true;
    import_dataset(options);
    expect_same(data, graph::Dataset(options.output));
}

std::vector<std::string> seeds() {
    return {bundle(make_dataset("made")), bundle(make_dataset("made", "grid"))};
}

}  // namespace rudder::fuzz
