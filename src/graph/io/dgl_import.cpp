#include "dgl_import.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/staging.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "dgl_files.hpp"
#include "import.hpp"
#include "npz.hpp"

namespace rudder::graph {

namespace fs = std::filesystem;

namespace {

constexpr const char* again = "write the partition again with DGL";
constexpr std::uint64_t most_parts = 1 << 16;
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

/// One part: its own vertices and the edges into them, by the ids of the partition.
struct DglPart {
    std::vector<std::int64_t> own;
    std::vector<std::int64_t> original;  ///< of those; empty: not kept
    std::vector<std::int64_t> sources;
    std::vector<std::int64_t> destinations;
    std::unique_ptr<DglFile> file;  ///< that the features are in
    DglTensors features;            ///< by their names alone: `_N/feat` is feat
};

const DglTensor& need(const DglTensors& tensors, const std::string& name, const fs::path& file) {
    const auto found = tensors.find(name);
    if (found != tensors.end()) return found->second;
    throw input_error(fmt::format("the part has no '{}'", name), file.string(), again);
}

void expect_rows(const DglTensor& tensor, std::uint64_t rows) {
    if (tensor.rows() == rows) return;
    throw input_error(fmt::format("{} rows, for {}", tensor.rows(), rows), tensor.where, again);
}

/// Ids below a bound.
std::vector<std::int64_t> ids_of(const DglTensor& tensor, std::uint64_t bound) {
    std::vector<std::int64_t> ids = tensor.integers();
    for (const std::int64_t id : ids) {
        if (static_cast<std::uint64_t>(id) < bound) continue;
        throw input_error(fmt::format("invalid vertex: {}, of {}", id, bound), tensor.where, again);
    }
    return ids;
}

std::string text_of(const Json& entry, const char* key, const std::string& where) {
    if (entry.is_object() && entry.contains(key) && entry.at(key).is_string())
        return entry.at(key).get<std::string>();
    throw input_error(fmt::format("no '{}' is named", key), where,
                      "give the file that DGL has written");
}

DglPart read_part(const fs::path& folder, const Json& entry, const std::string& where,
                  std::uint64_t vertices) {
    const fs::path graph_path = folder / text_of(entry, "part_graph", where);
    const DglFile graph_file(graph_path);
    const DglGraph graph = graph_file.graph();
    const auto ids = ids_of(need(graph.vertex_tensors, "_ID", graph_path), vertices);
    const DglTensor& inner = need(graph.vertex_tensors, "inner_node", graph_path);
    expect_rows(inner, ids.size());
    const auto is_own = inner.integers();
    DglPart part;
    const auto orig = graph.vertex_tensors.find("orig_id");
    std::vector<std::int64_t> original;
    if (orig != graph.vertex_tensors.end()) {
        original = ids_of(orig->second, vertices);
        expect_rows(orig->second, ids.size());
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (is_own[i] == 0) continue;
        part.own.push_back(ids[i]);
        if (!original.empty()) part.original.push_back(original[i]);
    }
    std::vector<std::int64_t> kept(graph.sources.size(), 1);
    const auto inner_edge = graph.edge_tensors.find("inner_edge");
    if (inner_edge != graph.edge_tensors.end()) {
        expect_rows(inner_edge->second, kept.size());
        kept = inner_edge->second.integers();
    }
    const auto global = [&](std::int64_t local) {
        if (static_cast<std::uint64_t>(local) < ids.size())
            return ids[static_cast<std::size_t>(local)];
        throw input_error(fmt::format("invalid vertex: {}, of {}", local, ids.size()),
                          graph_path.string(), again);
    };
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i] == 0) continue;
        part.sources.push_back(global(graph.sources[i]));
        part.destinations.push_back(global(graph.destinations[i]));
    }
    part.file = std::make_unique<DglFile>(folder / text_of(entry, "node_feats", where));
    for (auto& [name, tensor] : part.file->tensors())
        part.features.insert_or_assign(name.substr(name.rfind('/') + 1), tensor);
    return part;
}

/// The tensor that was named, or the first known one that is there; empty: there is none.
std::string chosen(const DglPart& part, const std::string& wanted,
                   std::initializer_list<const char*> known, const char* what,
                   const std::string& where) {
    if (!wanted.empty()) {
        if (part.features.contains(wanted)) return wanted;
        std::vector<std::string_view> names;
        for (const auto& [name, tensor] : part.features)
            names.push_back(name);
        throw input_error(
            fmt::format("no {} '{}'", what, wanted), where,
            fmt::format("choose one of {}", names.empty() ? "none" : join(names, ", ")));
    }
    for (const char* name : known)
        if (part.features.contains(name)) return name;
    return {};
}

/// Where the row of each vertex of the data set lies.
struct Places {
    std::vector<std::uint32_t> part;
    std::vector<std::uint64_t> row;
};

/// All parts as one graph.
struct WholeGraph {
    std::vector<DglPart> parts;
    std::vector<std::int64_t> name;  ///< of each vertex of the partition, in the data set
    Places places;

    [[nodiscard]] std::uint64_t vertices() const noexcept { return name.size(); }
};

/// Names the vertices, and finds their rows. Each must be some part's own, and of that alone.
void settle(WholeGraph& graph, std::uint64_t vertices, const std::string& where) {
    std::uint64_t own = 0;
    bool original = true;
    for (const DglPart& part : graph.parts) {
        own += part.own.size();
        original = original && part.original.size() == part.own.size();
    }
    graph.name.assign(vertices, -1);
    graph.places = {std::vector<std::uint32_t>(vertices), std::vector<std::uint64_t>(vertices)};
    std::vector<bool> taken(vertices);
    bool once = own == vertices;
    for (std::size_t p = 0; p < graph.parts.size() && once; ++p) {
        const DglPart& part = graph.parts[p];
        for (std::size_t i = 0; i < part.own.size() && once; ++i) {
            const auto v = static_cast<std::size_t>(part.own[i]);
            const std::int64_t named = original ? part.original[i] : part.own[i];
            const auto place = static_cast<std::size_t>(named);
            once = graph.name[v] < 0 && !taken[place];
            graph.name[v] = named;
            taken[place] = true;
            graph.places.part[place] = static_cast<std::uint32_t>(p);
            graph.places.row[place] = i;
        }
    }
    if (once) return;
    throw input_error(
        fmt::format("the parts have {} vertices of their own, of {}, or some twice", own, vertices),
        where, again);
}

/// Adds a tensor of all vertices, in the order of the data set, to an archive.
void add_rows(NpzWriter& writer, const char* as, const WholeGraph& graph, const std::string& name,
              bool boolean) {
    if (name.empty()) return;
    for (const DglPart& part : graph.parts)
        if (!part.features.contains(name)) return;
    NpyHeader header = graph.parts.front().features.at(name).header;
    std::vector<const DglTensor*> tensors;
    for (const DglPart& part : graph.parts) {
        const DglTensor& tensor = part.features.at(name);
        if (tensor.header.shape.empty() || tensor.rows() != part.own.size()) {
            throw input_error(fmt::format("'{}' has {} rows, for {} vertices", name, tensor.rows(),
                                          part.own.size()),
                              tensor.where, again);
        }
        const NpyHeader& other = tensor.header;
        if (other.type != header.type || !std::ranges::equal(std::span(other.shape).subspan(1),
                                                             std::span(header.shape).subspan(1))) {
            throw input_error(fmt::format("'{}' is {} here and {} in the first part", name,
                                          other.describe(), header.describe()),
                              tensor.where, again);
        }
        tensors.push_back(&tensor);
    }
    header.shape.front() = graph.vertices();
    std::uint64_t row_bytes = header.item_bytes();
    for (const std::uint64_t extent : std::span(header.shape).subspan(1))
        row_bytes *= extent;
    if (boolean && row_bytes != 1) {
        throw input_error(fmt::format("'{}' is {}, not a mask", name, header.describe()),
                          tensors.front()->where, again);
    }
    header.boolean = boolean;
    if (boolean) header.type = ElementType::u8;
    const std::uint64_t at_once =
        std::max<std::uint64_t>(1, piece_bytes / std::max<std::uint64_t>(1, row_bytes));
    writer.add(as, header,
               [&places = graph.places, tensors, row_bytes, at_once, boolean,
                next = std::uint64_t{0}](std::vector<std::byte>& block) mutable {
                   const std::uint64_t end =
                       std::min<std::uint64_t>(places.row.size(), next + at_once);
                   block.clear();
                   for (; next < end; ++next) {
                       const auto row = tensors[places.part[next]]->bytes.subspan(
                           places.row[next] * row_bytes, row_bytes);
                       if (boolean) {
                           block.push_back(std::byte{row.front() != std::byte{0}});
                       } else {
                           block.insert(block.end(), row.begin(), row.end());
                       }
                   }
                   return !block.empty();
               });
}

/// Sources above destinations.
void add_edges(NpzWriter& writer, const WholeGraph& graph) {
    std::uint64_t edges = 0;
    for (const DglPart& part : graph.parts)
        edges += part.sources.size();
    struct At {
        std::size_t row = 0;
        std::size_t part = 0;
    };
    writer.add("edge_index", {ElementType::i64, false, 0, {2, edges}},
               [&graph, at = At{}](std::vector<std::byte>& block) mutable {
                   block.clear();
                   while (block.empty() && at.row < 2) {
                       const DglPart& part = graph.parts[at.part];
                       std::vector<std::int64_t> names;
                       for (const std::int64_t v : at.row == 0 ? part.sources : part.destinations)
                           names.push_back(graph.name[static_cast<std::size_t>(v)]);
                       const auto bytes = std::as_bytes(std::span(names));
                       block.assign(bytes.begin(), bytes.end());
                       if (++at.part == graph.parts.size()) at = {at.row + 1, 0};
                   }
                   return !block.empty();
               });
}

WholeGraph read_parts(const fs::path& file) {
    const Json config = read_json(file);
    const std::string where = file.string();
    const std::uint64_t count = json_u64(config, "num_parts", where);
    const std::uint64_t vertices = json_u64(config, "num_nodes", where);
    if (count == 0 || count > most_parts) {
        throw input_error(fmt::format("invalid num_parts: {}", count), where,
                          "give the .json file of a partition of DGL");
    }
    const fs::path folder = fs::absolute(file).parent_path();
    WholeGraph graph;
    std::uint64_t bytes = 0;
    for (std::uint64_t p = 0; p < count; ++p) {
        const std::string key = fmt::format("part-{}", p);
        if (!config.contains(key)) {
            throw input_error(fmt::format("part {} is missing", p), where,
                              "give the file that DGL has written");
        }
        graph.parts.push_back(read_part(folder, config.at(key), where, vertices));
        bytes += graph.parts.back().own.size();
    }
    // Before anything of that size is made.
    if (bytes < vertices) {
        throw input_error(
            fmt::format("the parts have {} vertices of their own, of {}", bytes, vertices), where,
            again);
    }
    settle(graph, vertices, where);
    return graph;
}

}  // namespace

DatasetInfo import_dgl(const DglImportOptions& options, Progress& progress) {
    std::error_code code;
    if (!options.force && fs::exists(options.output, code)) {
        throw usage_error("the output exists already", options.output.string(),
                          "choose another folder, or give --force");
    }
    const std::string where = options.input.string();
    // An archive beside the output, which is removed again.
    fs::path beside = options.output.has_filename() ? options.output : options.output.parent_path();
    beside += ".npz";
    const Staging archive = Staging::file(beside, Existing::replace);
    {
        const WholeGraph graph = read_parts(options.input);
        const DglPart& first = graph.parts.front();
        NpzWriter writer(archive.path());
        const auto vertices = static_cast<std::int64_t>(graph.vertices());
        writer.add<std::int64_t>("num_nodes", std::span(&vertices, 1), {});
        add_edges(writer, graph);
        add_rows(writer, "x", graph,
                 chosen(first, options.features, {"feat", "features", "x"}, "features", where),
                 false);
        add_rows(writer, "y", graph,
                 chosen(first, options.labels, {"label", "labels", "y"}, "labels", where), false);
        for (const char* mask : {"train_mask", "val_mask", "test_mask"})
            add_rows(writer, mask, graph, chosen(first, {}, {mask}, "mask", where), true);
        if (!first.features.contains("val_mask")) {
            add_rows(writer, "val_mask", graph, chosen(first, {}, {"valid_mask"}, "mask", where),
                     true);
        }
        writer.finish();
    }
    ImportOptions import;
    import.input = archive.path();
    import.output = options.output;
    import.format = "npz";
    import.directed = !options.undirected;
    import.split = options.split;
    import.seed = options.seed;
    import.force = options.force;
    import.provenance = options.provenance;
    return import_dataset(import, progress);
}

}  // namespace rudder::graph
