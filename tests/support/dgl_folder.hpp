// Partition folders as dgl.distributed.partition_graph writes them, byte by byte.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace rudder::test {

/// Bytes that grow.
class DglBytes {
public:
    template <class T>
    DglBytes& put(T value) {
        std::array<char, sizeof(T)> raw{};
        std::memcpy(raw.data(), &value, sizeof(T));
        bytes.append(raw.data(), raw.size());
        return *this;
    }
    DglBytes& word(std::uint64_t value) { return put(value); }
    DglBytes& text(std::string_view value) {
        word(value.size());
        bytes.append(value);
        return *this;
    }
    /// Elements of a kind: 0 signed, 1 unsigned, 2 floating.
    template <class T>
    DglBytes& array(const std::vector<T>& values, std::vector<std::int64_t> shape = {}) {
        if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
        const int kind = std::is_floating_point_v<T> ? 2 : std::is_unsigned_v<T> ? 1 : 0;
        word(0xDD5E40F096B4A13F).word(0).put(std::int32_t{1}).put(std::int32_t{0});
        put(static_cast<std::int32_t>(shape.size()));
        put(static_cast<std::uint8_t>(kind)).put(static_cast<std::uint8_t>(8 * sizeof(T)));
        put(std::uint16_t{1});
        for (const std::int64_t extent : shape)
            put(extent);
        word(values.size() * sizeof(T));
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
        return *this;
    }

    std::string bytes;
};

/// Tensors by name: how many, then each behind its name.
struct DglNamed {
    std::uint64_t count = 0;
    DglBytes tensors;

    template <class T>
    void add(std::string_view name, const std::vector<T>& values,
             std::vector<std::int64_t> shape = {}) {
        ++count;
        tensors.text(name).array(values, std::move(shape));
    }
    [[nodiscard]] std::string bytes() const { return DglBytes().word(count).bytes + tensors.bytes; }
};

using DglIds = std::vector<std::int64_t>;

/// A matrix in compressed form: offsets of rows, columns and numbers of entries.
inline std::string dgl_compressed(const DglIds& rows, const DglIds& columns, std::int64_t count) {
    DglIds offsets{0};
    DglIds ordered;
    DglIds ids;
    for (std::int64_t row = 0; row < count; ++row) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (rows[i] != row) continue;
            ordered.push_back(columns[i]);
            ids.push_back(static_cast<std::int64_t>(i));
        }
        offsets.push_back(static_cast<std::int64_t>(ids.size()));
    }
    DglBytes made;
    made.word(0xDD6CD31205DFF127).put(count).put(count);
    made.array(offsets).array(ordered).array(ids).put(std::uint8_t{0});
    return made.bytes;
}

/// How a relation lies in a file: flags of 1 (list), 2 (by source) and 4 (by destination).
inline std::string dgl_graph_file(const DglIds& sources, const DglIds& destinations,
                                  std::int64_t count, const DglNamed& vertices,
                                  const DglNamed& edges, std::uint64_t formats,
                                  std::uint64_t relations = 1) {
    const std::string meta =
        DglBytes().word(0xDD3C5FFE20046ABF).bytes + dgl_compressed({0}, {0}, 1);
    std::string relation =
        DglBytes().word(0xDD2E60F0F6B4A127).word(formats | 1ULL << 32U).word(7).bytes;
    if ((formats & 1U) != 0) {
        DglBytes list;
        list.word(0xDD61FFD305DFF127).put(count).put(count);
        list.array(sources).array(destinations).array(DglIds{}).put(std::uint16_t{0});
        relation += meta + list.bytes;
    }
    if ((formats & 2U) != 0) relation += meta + dgl_compressed(sources, destinations, count);
    if ((formats & 4U) != 0) relation += meta + dgl_compressed(destinations, sources, count);
    DglBytes made;
    made.word(0xDD2E4FF046B4A13F).word(2).word(2).word(1);
    made.bytes.resize(4096);
    const std::string labels = DglNamed().bytes();
    made.word(4096 + 8 + labels.size());
    made.bytes += labels;
    made.word(0xDD589FBE35224ABF);
    made.bytes += meta;
    made.word(relations);
    for (std::uint64_t i = 0; i < relations; ++i)
        made.bytes += relation;
    made.word(1).put(count).word(1);
    made.bytes += vertices.bytes();
    made.word(relations);
    for (std::uint64_t i = 0; i < relations; ++i)
        made.bytes += edges.bytes();
    made.word(1).text("_N").word(relations);
    for (std::uint64_t i = 0; i < relations; ++i)
        made.text("_E");
    return made.bytes;
}

inline std::string dgl_tensors_file(const DglNamed& tensors) {
    return DglBytes().word(0xDD5A9FBE3FA2443F).word(tensors.count).bytes + tensors.bytes();
}

/// A ring of `count` vertices in two parts: vertex v of the graph, which the partition calls
/// `count - 1 - v`, has the features (v, -v), the class v % 3 and the role v % 3.
struct DglRing {
    std::int64_t count = 12;
    std::uint64_t formats = 4;
    bool original = true;  ///< orig_id is there
    std::uint64_t relations = 1;
    std::int64_t extra_rows = 0;  ///< of the features of the second part

    /// Writes it; the path of its .json file.
    std::filesystem::path write(const std::filesystem::path& folder) const {
        std::string config =
            "{\"graph_name\": \"ring\", \"num_parts\": 2, \"num_nodes\": " + std::to_string(count);
        for (int part = 0; part < 2; ++part) {
            const std::string name = "part" + std::to_string(part);
            write_part(folder / name, part);
            config += ", \"part-" + std::to_string(part) + "\": {\"part_graph\": \"" + name +
                      "/graph.dgl\", \"node_feats\": \"" + name + "/node_feat.dgl\"}";
        }
        return put(folder / "graph.json", config + "}");
    }

    static std::filesystem::path put(const std::filesystem::path& file, const std::string& bytes) {
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << bytes;
        return file;
    }

private:
    void write_part(const std::filesystem::path& folder, int part) const {
        const std::int64_t begin = part == 0 ? 0 : count / 3;
        const std::int64_t end = part == 0 ? count / 3 : count;
        DglIds ids;
        for (std::int64_t v = begin; v < end; ++v)
            ids.push_back(v);
        // Each own vertex has an edge from the one before it, which may be another part's.
        ids.push_back((begin + count - 1) % count);
        DglIds sources{static_cast<std::int64_t>(ids.size()) - 1};
        DglIds destinations{0};
        for (std::int64_t i = 1; i < end - begin; ++i) {
            sources.push_back(i - 1);
            destinations.push_back(i);
        }
        // One between others than its own: not of this part.
        sources.push_back(static_cast<std::int64_t>(ids.size()) - 1);
        destinations.push_back(static_cast<std::int64_t>(ids.size()) - 1);
        std::vector<std::uint8_t> inner_edge(sources.size(), 1);
        inner_edge.back() = 0;
        std::vector<std::uint8_t> inner_node(ids.size(), 1);
        inner_node.back() = 0;
        DglNamed vertices;
        vertices.add("_ID", ids);
        vertices.add("inner_node", inner_node);
        if (original) vertices.add("orig_id", named(ids));
        DglNamed edges;
        edges.add("inner_edge", inner_edge);
        put(folder / "graph.dgl",
            dgl_graph_file(sources, destinations, static_cast<std::int64_t>(ids.size()), vertices,
                           edges, formats, relations));
        ids.pop_back();
        put(folder / "node_feat.dgl", dgl_tensors_file(features(ids, part == 1 ? extra_rows : 0)));
    }
    [[nodiscard]] DglIds named(const DglIds& ids) const {
        DglIds names;
        for (const std::int64_t id : ids)
            names.push_back(count - 1 - id);
        return names;
    }
    [[nodiscard]] DglNamed features(const DglIds& ids, std::int64_t more) const {
        std::vector<float> x;
        DglIds y;
        std::array<std::vector<std::uint8_t>, 3> roles;
        for (const std::int64_t v : named(ids)) {
            x.push_back(static_cast<float>(v));
            x.push_back(static_cast<float>(-v));
            y.push_back(v % 3);
            for (std::int64_t role = 0; role < 3; ++role)
                roles[static_cast<std::size_t>(role)].push_back(
                    static_cast<std::uint8_t>(v % 3 == role));
        }
        const auto rows = static_cast<std::int64_t>(ids.size()) + more;
        x.resize(static_cast<std::size_t>(2 * rows));
        DglNamed made;
        made.add("_N/feat", x, {rows, 2});
        made.add("_N/label", y);
        made.add("_N/train_mask", roles[0]);
        made.add("_N/val_mask", roles[1]);
        made.add("_N/test_mask", roles[2]);
        return made;
    }
};

}  // namespace rudder::test
