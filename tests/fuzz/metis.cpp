// METIS's graph files: what was read, written without weights and read again, is equal.
#include "graphs.hpp"

namespace rudder::fuzz {

void check(std::string_view bytes) {
    const PlainGraph first = read_plain("metis", put("in.graph", bytes));
    if (first.vertices > most_vertices) return;
    std::vector<std::string> rows(first.vertices);
    for (const graph::Edge& edge : first.edges)
        rows[edge.target] += std::to_string(edge.source + 1) + " ";
    FUZZ_EXPECT(first.edges.size() % 2 == 0);
    std::string text =
        std::to_string(first.vertices) + " " + std::to_string(first.edges.size() / 2) + "\n";
    for (const std::string& row : rows)
        text += row + "\n";
    FUZZ_EXPECT(read_plain("metis", put("again.graph", text)) == first);
}

std::vector<std::string> seeds() {
    return {"% made\n3 2\n2\n1 3\n2\n", "3 2 11 1\n5 2 1\n6 1 1 3 4\n7 2 4\n",
            "4 1 100\n1 2\n1 1\n1\n1\n"};
}

}  // namespace rudder::fuzz
