// A data set: a graph with features, targets and a split, in one folder that opens by memory map.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/array_folder.hpp"
#include "rudder/graph/features.hpp"
#include "rudder/graph/split.hpp"
#include "rudder/graph/targets.hpp"
#include "rudder/graph/topology.hpp"

namespace rudder::graph {

inline constexpr std::string_view dataset_format = "rudder dataset";
/// The newest that is read; which one is written depends on what there is (`DatasetInfo::version`).
inline constexpr std::uint64_t dataset_version = 3;

/// The most types of vertices, and of edges, that a graph may have.
inline constexpr std::size_t most_types = 255;

/// A type of vertices: a stretch of ids, in the order of the types. Within a part likewise.
struct VertexType {
    std::string name;
    VertexId first = 0;  ///< of its ids
    VertexId vertices = 0;
    FeatureInfo features;   ///< of its rows; a type may have none
    VertexId labelled = 0;  ///< those that have a target
};

/// A type of edges: all join vertices of the same two types. Messages flow from `from` to `to`.
struct EdgeType {
    std::string name;
    std::size_t from = 0;  ///< numbers of types of vertices
    std::size_t to = 0;
    EdgeIndex edges = 0;                      ///< stored arcs
    std::optional<std::size_t> reverse_of{};  ///< the type whose edges these are, the other way
};

/// The types of a graph that has several; a graph of one type of vertices and one of edges has
/// none. Vertices of one type have consecutive ids, in the order of the types.
struct GraphTypes {
    std::vector<VertexType> vertices;
    std::vector<EdgeType> edges;

    [[nodiscard]] bool present() const noexcept { return !vertices.empty(); }
    /// The type of a vertex.
    [[nodiscard]] std::size_t of(VertexId v) const noexcept;
    /// The number of the type of that name, if there is one.
    [[nodiscard]] std::optional<std::size_t> vertex_type(std::string_view name) const noexcept;
    [[nodiscard]] std::optional<std::size_t> edge_type(std::string_view name) const noexcept;
    /// Whether both have the same types, whatever their numbers of vertices and edges.
    [[nodiscard]] bool same_kinds(const GraphTypes& other) const noexcept;
};

/// What a data set says of itself.
struct DatasetInfo {
    VertexId vertices = 0;
    EdgeIndex edges = 0;  ///< stored arcs
    bool symmetric = true;
    EdgeIndex self_loops = 0;
    EdgeIndex duplicates = 0;
    FeatureInfo features;
    TargetInfo targets;
    SplitCounts split;
    bool edge_weight = false;
    bool edge_time = false;
    FeatureInfo edge_features;
    TargetInfo edge_targets;                ///< `labelled` counts entries
    std::optional<SplitCounts> edge_split;  ///< of entries, where they have roles
    bool vertex_time = false;
    GraphTypes types;  ///< of a graph of several; `features` are then none, since types have theirs

    /// The rows of all vertices, where they are taken for alike: `features`, or of several types
    /// rows as wide as the widest, of which narrower ones fill the first columns.
    [[nodiscard]] FeatureInfo rows() const noexcept;
    /// Whether edges have weights, times, features, targets or roles.
    [[nodiscard]] bool edges_carry() const noexcept {
        return edge_weight || edge_time || edge_features.present() || edge_split ||
               edge_targets.kind != TargetKind::none;
    }
    /// Of the format that holds it: 3 where there are types, 2 where edges carry something or
    /// vertices have times, else 1.
    [[nodiscard]] std::uint64_t version() const noexcept {
        if (types.present()) return 3;
        return edges_carry() || vertex_time ? 2 : 1;
    }
};

/// The time of a vertex that has none.
inline constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::min();

/// The info as keys of a manifest, and back (an input Error naming `where` if it does not hold).
void describe(const DatasetInfo& info, Json& manifest);
[[nodiscard]] DatasetInfo dataset_info(const Json& manifest, const std::string& where);

/// Targets and roles as mapped arrays, of vertices or of edges.
struct TargetArrays {
    Array<std::int32_t> classes;
    Array<std::uint8_t> multilabel;
    Array<float> regression;
    Array<std::uint8_t> roles;

    /// Maps `labels`, the array that such targets have.
    void open_targets(const ArrayFolder& folder, const TargetInfo& info, std::uint64_t rows,
                      std::string_view labels);
    [[nodiscard]] TargetView view() const;
    [[nodiscard]] std::span<const Role> role_view() const;

    /// What an array is called in messages.
    struct Names {
        std::string_view labels;
        std::string_view split;
        std::string_view things;  ///< what has them
    };
    /// Checks every value: labels and roles in range, counts as they should be.
    void check(const TargetInfo& info, const SplitCounts& split, std::uint64_t rows,
               const std::string& where, const Names& names) const;
    /// Of these only that labels of classes and roles are in range.
    void check_bounds(const TargetInfo& info, const std::string& where, const Names& names) const;
};

/// The rows of one type of vertices as they are mapped.
struct TypeRows {
    Region features;
    Array<float> scale;
};

/// Features and targets as mapped arrays, with the checks their manifest asks for; shared by data
/// sets and parts. `rows` is the number of vertices that have a row.
struct VertexArrays {
    Region features;
    Array<float> scale;
    std::vector<TypeRows> types;  ///< of a graph of several types: the features of each
    TargetArrays targets;
    Array<std::int64_t> times;

    [[nodiscard]] static VertexArrays open(const ArrayFolder& folder, const DatasetInfo& info,
                                           VertexId rows);
    [[nodiscard]] FeatureView feature_view(const FeatureInfo& info, VertexId rows) const;
    /// The rows of one type of several.
    [[nodiscard]] FeatureView type_view(const GraphTypes& of, std::size_t type) const;
    [[nodiscard]] TargetView target_view() const { return targets.view(); }
    [[nodiscard]] std::span<const Role> role_view() const { return targets.role_view(); }
    /// Checks every value: finite features, labels and roles in range, counts as in `info`.
    void check(const DatasetInfo& info, VertexId rows, const std::string& where) const;
    /// Of these only that labels of classes and roles are in range.
    void check_bounds(const DatasetInfo& info, const std::string& where) const;
};

/// What edges carry as mapped arrays; shared by data sets and parts.
struct EdgeArrays {
    Array<float> weight;
    Array<std::int64_t> time;
    Array<std::uint8_t> type;
    Region features;
    TargetArrays targets;

    [[nodiscard]] static EdgeArrays open(const ArrayFolder& folder, const DatasetInfo& info);
    [[nodiscard]] EdgeData view(const DatasetInfo& info) const;
    /// Checks every value: finite features, weights that are finite and not negative, times that
    /// do not descend among equal entries of a row of `graph`, targets and roles.
    void check(const DatasetInfo& info, const TopologyView& graph, const std::string& where) const;
    /// Of these only that labels of classes and roles are in range.
    void check_bounds(const DatasetInfo& info, const std::string& where) const;
};

/// Throws an input Error naming `where` and the position of the first weight that is NaN, infinite
/// or negative.
void check_weights(std::span<const float> weights, const std::string& where);

/// An opened data set. Opening reads the manifest and maps the arrays; nothing else is touched.
class Dataset {
public:
    explicit Dataset(const std::filesystem::path& folder);

    [[nodiscard]] const DatasetInfo& info() const noexcept { return info_; }
    [[nodiscard]] const ArrayFolder& folder() const noexcept { return folder_; }
    [[nodiscard]] TopologyView topology() const { return topology_.view(); }
    [[nodiscard]] FeatureView features() const {
        return arrays_.feature_view(info_.features, info_.vertices);
    }
    /// The rows of one type of several: row i is that of vertex i of the type.
    [[nodiscard]] FeatureView features(std::size_t type) const {
        return arrays_.type_view(info_.types, type);
    }
    [[nodiscard]] TargetView targets() const { return arrays_.target_view(); }
    [[nodiscard]] std::span<const Role> roles() const { return arrays_.role_view(); }
    [[nodiscard]] EdgeData edge_data() const { return edge_arrays_.view(info_); }
    /// The time of each vertex, `no_time` for those without; empty where none has one.
    [[nodiscard]] std::span<const std::int64_t> vertex_times() const {
        return arrays_.times.span();
    }

    /// Verifies every checksum and every invariant of the format; an input Error names the first
    /// that does not hold.
    void check() const;

private:
    ArrayFolder folder_;
    DatasetInfo info_;
    Topology topology_;
    VertexArrays arrays_;
    EdgeArrays edge_arrays_;
};

/// Whether entries that join the same two vertices the two ways carry the same, in the same order.
[[nodiscard]] bool carries_symmetric(const TopologyView& graph, const EdgeData& data);

/// Checks rows: offsets ascending, neighbours in range and ascending. `where` names the folder.
void check_topology(const TopologyView& graph, VertexId id_limit, const std::string& where);

/// Writes the arrays of a graph ("offsets", "neighbours") into a folder.
void write_topology(ArrayFolderWriter& writer, const TopologyView& graph);
/// Maps them again.
[[nodiscard]] Topology open_topology(const ArrayFolder& folder, const DatasetInfo& info);

}  // namespace rudder::graph
