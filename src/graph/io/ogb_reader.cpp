// Folders as the Open Graph Benchmark has them: raw/*.csv.gz and split/SCHEME/*.csv.gz.
#include <atomic>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "edge_blocks.hpp"
#include "feature_sources.hpp"
#include "npz_reader.hpp"
#include "readers.hpp"
#include "target_builder.hpp"

namespace rudder::graph {

namespace fs = std::filesystem;

namespace {

/// `folder/name.csv.gz`, or without `.gz`; empty if there is neither.
fs::path find_csv(const fs::path& folder, const std::string& name) {
    for (const char* suffix : {".csv.gz", ".csv"}) {
        fs::path file = folder / (name + suffix);
        if (fs::exists(file)) return file;
    }
    return {};
}

fs::path need_csv(const fs::path& folder, const std::string& name) {
    fs::path file = find_csv(folder, name);
    if (!file.empty()) return file;
    throw input_error(fmt::format("{}.csv.gz is missing", name), folder.string(),
                      "give a folder as OGB unpacks it, with 'raw' and 'split' inside");
}

/// The one number of a file such as num-node-list.csv.gz.
std::uint64_t read_number(const fs::path& file) {
    TextInput text(file);
    const auto line = text.peek_line();
    if (!line) throw text.error({"the file is empty", 1, "give the number of vertices"});
    try {
        LineCursor cursor(*line);
        const std::uint64_t number = read_id(cursor, any_id);
        text.take_line();
        const auto next = text.peek_line();
        if (next && !blank_or_comment(*next)) {
            throw LineFault{"the folder holds more than one graph", 1,
                            "give a data set for predicting vertices (ogbn-...)"};
        }
        return number;
    } catch (const LineFault& fault) {
        throw text.error(fault);
    }
}

/// A table of numbers in text.
struct Table {
    std::vector<double> values;
    std::uint64_t width = 0;
    bool whole = true;  ///< every word is a whole number or NaN
};

Table read_table(const fs::path& file, Progress& progress) {
    TextInput text(file);
    Table table;
    if (const auto line = text.peek_line()) {
        for (LineCursor cursor(*line); !cursor.done(); ++table.width)
            static_cast<void>(cursor.word());
    }
    std::vector<std::vector<double>> pieces;
    std::atomic<bool> whole{true};
    text.parse([&](std::size_t count) { pieces.assign(count, {}); },
               [&](std::size_t piece, std::string_view line) {
                   if (blank_or_comment(line)) return;
                   LineCursor cursor(line);
                   for (std::uint64_t c = 0; c < table.width; ++c) {
                       const double value = cursor.number();
                       if (!std::isnan(value) && value != std::floor(value)) whole = false;
                       pieces[piece].push_back(value);
                   }
                   if (!cursor.done()) throw cursor.fault("the line is too long", "correct it");
                   if (line.find('.') != std::string_view::npos) whole = false;
               },
               [&] {
                   for (const auto& piece : pieces)
                       table.values.insert(table.values.end(), piece.begin(), piece.end());
               },
               progress);
    table.whole = whole;
    return table;
}

Targets read_labels(const fs::path& file, VertexId vertices, Progress& progress) {
    const Table table = read_table(file, progress);
    const std::string where = file.string();
    if (table.width == 0 || table.values.size() != vertices * table.width) {
        throw input_error(
            fmt::format("there are {} labels for {} vertices",
                        table.width == 0 ? 0 : table.values.size() / table.width, vertices),
            where, "give one for each vertex");
    }
    if (!table.whole) {
        auto values = Array<float>::uninitialised(table.values.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(table.values[i]);
        return regression_targets(std::move(values), table.width, where);
    }
    auto values = Array<std::int64_t>::uninitialised(table.values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = table.values[i];
        if (std::abs(value) > 0x1.0p53) {
            throw input_error("a label is too large",
                              fmt::format("{}, line {}", where, i / table.width + 1),
                              "correct the label");
        }
        values[i] = std::isnan(value) ? -1 : static_cast<std::int64_t>(value);
    }
    if (table.width == 1) return class_targets(values.span(), false, {}, where);
    return multilabel_targets(values.span(), table.width, {}, where);
}

/// The folder of the one way to split there is; empty if there is none.
fs::path split_folder(const fs::path& folder) {
    fs::path found;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder / "split", code)) {
        if (!entry.is_directory()) continue;
        if (!found.empty()) {
            throw input_error("there is more than one way to split", (folder / "split").string(),
                              "leave one folder in it");
        }
        found = entry.path();
    }
    return found;
}

void read_set(const fs::path& file, std::span<Role> roles, Role role, Progress& progress) {
    TextInput text(file);
    std::vector<std::vector<VertexId>> pieces;
    std::vector<VertexId> ids;
    text.parse([&](std::size_t count) { pieces.assign(count, {}); },
               [&](std::size_t piece, std::string_view line) {
                   if (blank_or_comment(line)) return;
                   LineCursor cursor(line);
                   pieces[piece].push_back(read_id(cursor, roles.size()));
               },
               [&] {
                   for (const auto& piece : pieces)
                       ids.insert(ids.end(), piece.begin(), piece.end());
               },
               progress);
    for (std::size_t i = 0; i < ids.size(); ++i)
        set_role(roles, ids[i], role, file.string(), i);
}

}  // namespace

RawGraph read_ogb(const ReadOptions& options, Progress& progress) {
    const fs::path raw = options.input / "raw";
    const fs::path edge_file = need_csv(raw, "edge");
    RawGraph graph;
    const fs::path count_file = need_csv(raw, "num-node-list");
    graph.vertices = read_number(count_file);
    if (options.vertices && *options.vertices != graph.vertices) {
        throw usage_error(fmt::format("the folder says {} vertices", graph.vertices), "--vertices",
                          "leave the option out");
    }
    TextInput text(edge_file);
    auto edges = std::make_unique<EdgeBlocks>(graph.vertices,
                                              parse_edge_lines(text, graph.vertices, progress));
    check_vertex_count(graph.vertices, edges->edges(), count_file.string());
    if (const fs::path file = find_csv(raw, "num-edge-list"); !file.empty()) {
        if (const std::uint64_t said = read_number(file); said != edges->edges()) {
            throw input_error(fmt::format("there are {} edges, {} says {}", edges->edges(),
                                          file.filename().string(), said),
                              edge_file.string(), "unpack the data set again");
        }
    }
    graph.edges = std::move(edges);
    if (const fs::path file = find_csv(raw, "node-feat"); !file.empty()) {
        graph.features = text_features(file, graph.vertices);
    }
    if (const fs::path file = find_csv(raw, "node-label"); !file.empty()) {
        graph.targets = read_labels(file, graph.vertices, progress);
    }
    if (const fs::path folder = split_folder(options.input); !folder.empty()) {
        graph.roles = Array<Role>::zeroed(graph.vertices);
        read_set(need_csv(folder, "train"), graph.roles->span(), Role::train, progress);
        read_set(need_csv(folder, "valid"), graph.roles->span(), Role::valid, progress);
        read_set(need_csv(folder, "test"), graph.roles->span(), Role::test, progress);
    }
    return graph;
}

}  // namespace rudder::graph
