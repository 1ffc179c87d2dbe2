// NPZ archives: what was imported, exported and imported again, is equal.
#include "graph/io/npz.hpp"

#include "graph/io/export.hpp"

#include "graphs.hpp"

namespace rudder::fuzz {

void check(std::string_view bytes) {
    const auto file = put("in.npz", bytes);
    const auto raw = graph::make_graph_reader("npz")->read({.input = file}, Progress::none());
    if (raw.vertices > most_vertices) return;
    static_cast<void>(plain(raw));
    round_trip({.input = file, .format = "npz"});
}

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    for (const char* kind : {"sbm", "grid"}) {
        graph::export_dataset({make_dataset("data", kind), scratch() / "out.npz", true});
        all.push_back(bytes_of(scratch() / "out.npz"));
    }
    // The other layouts: rows, features as int8 with a scale, several labels, text, masks.
    graph::NpzWriter writer(scratch() / "out.npz");
    writer.add<std::int64_t>("adj_indptr", std::vector<std::int64_t>{0, 1, 3, 4}, {4});
    writer.add<std::int32_t>("adj_indices", std::vector<std::int32_t>{1, 0, 2, 1}, {4});
    writer.add<std::int8_t>("x_int8", std::vector<std::int8_t>{1, -2, 3, 4, 5, -6}, {3, 2});
    writer.add<float>("x_scale", std::vector<float>{0.5F, 2}, {2});
    writer.add<std::uint8_t>("y", std::vector<std::uint8_t>{0, 1, 1, 1, 0, 0}, {3, 2});
    writer.add_texts("classes", {"a", "b\xc3\xa4"});
    writer.add<std::int64_t>("train_idx", std::vector<std::int64_t>{0, 1}, {2});
    writer.add<std::int64_t>("val_idx", std::vector<std::int64_t>{2}, {1});
    writer.add<std::int64_t>("test_idx", std::vector<std::int64_t>{}, {0});
    writer.finish();
    all.push_back(bytes_of(scratch() / "out.npz"));
    return all;
}

}  // namespace rudder::fuzz
