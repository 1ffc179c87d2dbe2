// Partition folders of DGL: what they become passes every check.
#include "graph/io/dgl_import.hpp"
#include "rudder/graph/dataset.hpp"

#include "fuzz.hpp"
#include "support/dgl_folder.hpp"

namespace rudder::fuzz {

void check(std::string_view bytes) {
    const auto folder = unbundle(bytes, "dgl");
    drop("out");
    graph::import_dgl({.input = folder / "graph.json", .output = scratch() / "out"});
    graph::Dataset(scratch() / "out").check();
}

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    for (const std::uint64_t formats : {1U, 2U, 4U, 7U}) {
        drop("ring");
        test::DglRing{.count = 6, .formats = formats, .original = formats != 2}.write(scratch() /
                                                                                      "ring");
        all.push_back(bundle(scratch() / "ring"));
    }
    return all;
}

}  // namespace rudder::fuzz
