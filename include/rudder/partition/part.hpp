// One part of a partitioned data set: its rows, its halo, its features, labels and roles.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "rudder/graph/dataset.hpp"
#include "rudder/partition/book.hpp"
#include "rudder/partition/summary.hpp"

namespace rudder::partition {

inline constexpr std::string_view part_format = "rudder part";
inline constexpr std::uint64_t part_version = graph::dataset_version;

/// Bytes of the largest manifest of a part that is read.
inline constexpr std::uint64_t part_manifest_limit = 16U << 20;

/// "part-00003".
[[nodiscard]] std::string part_folder(PartId part);

/// Refuses (usage Error) a part whose own and halo vertices do not fit 32-bit local ids.
void check_local_ids(PartId part, VertexId own, VertexId halo);

/// An opened part. Opening reads its manifest and maps its arrays; nothing else is touched.
///
/// Local ids: own vertices first, in the order of their global ids, then the halo (the vertices of
/// other parts that own rows name), in the order of theirs. Each row is in ascending global id.
class Part {
public:
    /// `checksum` is that of its manifest; `range` what it owns.
    Part(const std::filesystem::path& folder, PartId id, PartitionBook::Range range,
         VertexId vertices, std::uint64_t checksum);

    [[nodiscard]] PartId id() const noexcept { return id_; }
    /// The global ids of its own vertices.
    [[nodiscard]] PartitionBook::Range range() const noexcept { return range_; }
    [[nodiscard]] VertexId own() const noexcept { return range_.size(); }
    /// Counts of this part alone: own vertices, arcs of their rows, labels, roles.
    [[nodiscard]] const graph::DatasetInfo& info() const noexcept { return info_; }
    [[nodiscard]] const graph::ArrayFolder& folder() const noexcept { return folder_; }

    [[nodiscard]] std::span<const EdgeIndex> offsets() const noexcept { return offsets_.span(); }
    [[nodiscard]] std::span<const LocalId> neighbours() const noexcept {
        return neighbours_.span();
    }
    /// The row of an own vertex.
    [[nodiscard]] std::span<const LocalId> row(LocalId v) const noexcept {
        return neighbours().subspan(offsets_[v], offsets_[v + std::size_t{1}] - offsets_[v]);
    }
    /// Global ids of the halo, ascending.
    [[nodiscard]] std::span<const VertexId> halo() const noexcept { return halo_.span(); }
    [[nodiscard]] std::span<const VertexId> original_ids() const noexcept {
        return original_ids_.span();
    }
    /// Offsets of the clusters: from 0 to own().
    [[nodiscard]] std::span<const VertexId> clusters() const noexcept { return clusters_.span(); }
    [[nodiscard]] graph::FeatureView features() const {
        if (!uniform_.empty()) return {info_.rows(), own(), uniform_.data(), {}};
        return arrays_.feature_view(info_.features, own());
    }
    /// Of a graph of several types: makes rows of all own vertices in memory, which `features`
    /// gives from then on (DatasetInfo::rows).
    void unify_rows();
    /// The rows of one type of several; vertices of a type lie together (`info().types`).
    [[nodiscard]] graph::FeatureView features(std::size_t type) const {
        return arrays_.type_view(info_.types, type);
    }
    [[nodiscard]] graph::TargetView targets() const { return arrays_.target_view(); }
    [[nodiscard]] std::span<const graph::Role> roles() const { return arrays_.role_view(); }
    /// What the entries of the rows carry, by position in `neighbours`.
    [[nodiscard]] graph::EdgeData edge_data() const { return edge_arrays_.view(info_); }
    /// The time of each own vertex, `graph::no_time` for those without; empty where none has one.
    [[nodiscard]] std::span<const std::int64_t> vertex_times() const {
        return arrays_.times.span();
    }

    [[nodiscard]] VertexId global(LocalId local) const noexcept {
        return local < own() ? range_.begin + local : halo_[local - own()];
    }
    /// The local id of a global one, if it is an own or a halo vertex.
    [[nodiscard]] std::optional<LocalId> local(VertexId global) const noexcept;

    /// Verifies every checksum and every invariant that concerns this part alone; an input Error
    /// names the first that does not hold. What it adds to the figures.
    PartFigures check(VertexId vertices) const;
    /// Of these only what keeps training from reading outside an array; reads neither features nor
    /// checksums.
    void check_bounds(VertexId vertices) const;

private:
    void check_halo(VertexId vertices, const std::string& where) const;
    [[nodiscard]] EdgeIndex check_rows(const std::string& where) const;
    void check_order(VertexId vertices, const std::string& where) const;
    void check_ids(const std::string& where) const;
    void check_types(const std::string& where) const;

    PartId id_;
    PartitionBook::Range range_;
    graph::ArrayFolder folder_;
    graph::DatasetInfo info_;
    Array<EdgeIndex> offsets_;
    Array<LocalId> neighbours_;
    Array<VertexId> halo_;
    Array<VertexId> original_ids_;
    Array<VertexId> clusters_;
    graph::VertexArrays arrays_;
    graph::EdgeArrays edge_arrays_;
    Array<std::byte> uniform_;
};

}  // namespace rudder::partition
