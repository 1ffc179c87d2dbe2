// Matrix Market files: what was read, written as a general pattern and read again, is equal.
#include "graphs.hpp"

namespace rudder::fuzz {

void check(std::string_view bytes) {
    const PlainGraph first = read_plain("mtx", put("in.mtx", bytes));
    const std::string size = std::to_string(first.vertices);
    std::string text = "%%MatrixMarket matrix coordinate pattern general\n" + size + " " + size +
                       " " + std::to_string(first.edges.size()) + "\n";
    for (const graph::Edge& edge : first.edges)
        text += std::to_string(edge.source + 1) + " " + std::to_string(edge.target + 1) + "\n";
    FUZZ_EXPECT(read_plain("mtx", put("again.mtx", text)) == first);
}

std::vector<std::string> seeds() {
    return {"%%MatrixMarket matrix coordinate pattern general\n% made\n3 3 3\n1 2\n2 3\n3 3\n",
            "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1e-3\n2 1 -0.5\n3 2 nan\n",
            "%%matrixmarket MATRIX Coordinate integer general\n\n2 2 1\n2 1 7\n"};
}

}  // namespace rudder::fuzz
