// Folders of the Open Graph Benchmark: what was imported, exported as NPZ and imported again, is
// equal.
#include "graphs.hpp"

namespace rudder::fuzz {

void check(std::string_view bytes) {
    const auto folder = unbundle(bytes, "ogb");
    const auto raw = graph::make_graph_reader("ogb")->read({.input = folder}, Progress::none());
    if (raw.vertices > most_vertices) return;
    static_cast<void>(plain(raw));
    round_trip({.input = folder, .format = "ogb"});
}

std::vector<std::string> seeds() {
    const std::string edges =
        "\n@@@raw/num-node-list.csv\n4\n\n@@@raw/num-edge-list.csv\n3\n\n@@@raw/"
        "edge.csv\n0,1\n1,2\n"
        "2,3\n";
    return {edges,
            edges +
                "\n@@@raw/node-feat.csv\n0.5,1\n-2,3e-3\n0,0\n1,1\n\n@@@raw/node-label.csv\n0\n1\n"
                "nan\n1\n\n@@@split/time/train.csv\n0\n1\n\n@@@split/time/valid.csv\n2\n"
                "\n@@@split/time/test.csv\n3\n",
            edges + "\n@@@raw/node-label.csv\n0,1\n1,1\nnan,nan\n0,0\n",
            edges + "\n@@@raw/node-label.csv\n0.5\n-1\nnan\n2e9\n"};
}

}  // namespace rudder::fuzz
