// Readers of graph formats: one abstract reader, a body for each format, and the list of their
// names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "rudder/core/array.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/graph/feature_source.hpp"
#include "rudder/graph/split.hpp"
#include "rudder/graph/targets.hpp"
#include "rudder/graph/topology_builder.hpp"

namespace rudder::graph {

/// A graph of more vertices than this cannot be meant.
inline constexpr VertexId max_vertices = VertexId{1} << 40;

/// Targets in memory; the array of the kind is set.
struct Targets {
    TargetInfo info;
    Array<std::int32_t> classes;
    Array<std::uint8_t> multilabel;
    Array<float> regression;

    [[nodiscard]] TargetView view() const {
        return {classes.span(), multilabel.span(), regression.span()};
    }
};

/// What edges carry, by their number; what is not set they do not carry.
struct RawEdgeData {
    std::optional<Array<float>> weight;       ///< finite, not negative
    std::optional<Array<std::int64_t>> time;  ///< larger is later
    std::unique_ptr<FeatureSource> features;  ///< a row per edge
    std::optional<Targets> targets;
    std::optional<Array<Role>> roles;

    [[nodiscard]] EdgePayload payload() const {
        EdgePayload payload;
        if (weight) payload.weight = weight->span();
        if (time) payload.time = time->span();
        payload.rows = features != nullptr || targets || roles;
        return payload;
    }
    [[nodiscard]] bool any() const noexcept { return weight || time || payload().rows; }
};

/// What a reader found. Ids of the edges are in range whenever they are walked.
struct RawGraph {
    VertexId vertices = 0;
    std::unique_ptr<EdgeSource> edges;  ///< NumberedEdges where they carry something
    RawEdgeData edge_data;
    std::unique_ptr<FeatureSource> features;  ///< null where the format has none
    std::optional<Targets> targets;
    std::optional<Array<Role>> roles;  ///< the split, where one is given
    /// The times of vertices, `no_time` for those without; not set where none has one.
    std::optional<Array<std::int64_t>> vertex_times;
};

/// What to read, and what the file itself may not say.
struct ReadOptions {
    std::filesystem::path input;
    std::optional<VertexId> vertices;  ///< else from the file, or the largest id
    int id_bits = 32;                  ///< of raw binary pairs: 32 or 64
};

/// Reads one format.
class GraphReader {
public:
    virtual ~GraphReader() = default;
    /// Reads everything but the features' rows; an input Error names file, array and position.
    [[nodiscard]] virtual RawGraph read(const ReadOptions& options, Progress& progress) const = 0;
};

/// The names of the formats: npz, edges, csv, binary, mtx, metis, ogb.
[[nodiscard]] std::span<const std::string_view> graph_formats() noexcept;
/// The reader of that name; a usage Error that lists the known ones otherwise.
[[nodiscard]] std::unique_ptr<GraphReader> make_graph_reader(std::string_view format);
/// The format of a file or folder, by its first bytes and its name; a usage Error if neither tells.
[[nodiscard]] std::string_view detect_graph_format(const std::filesystem::path& input);

}  // namespace rudder::graph
