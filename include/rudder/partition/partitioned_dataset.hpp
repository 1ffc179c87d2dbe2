// A partitioned data set: a manifest with the partition book, and a folder per part.
#pragma once

#include <filesystem>
#include <vector>

#include "rudder/partition/book.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/partition/summary.hpp"

namespace rudder::partition {

inline constexpr std::string_view partition_format = "rudder partition";
inline constexpr std::uint64_t partition_version = graph::dataset_version;

/// An opened partitioned data set. Opening reads the manifest alone, and that of the first part,
/// which must be of the same kind; parts are opened one by one.
class PartitionedDataset {
public:
    explicit PartitionedDataset(const std::filesystem::path& folder);

    /// Of the whole graph.
    [[nodiscard]] const graph::DatasetInfo& info() const noexcept { return info_; }
    [[nodiscard]] const PartitionSummary& summary() const noexcept { return summary_; }
    [[nodiscard]] const PartitionBook& book() const noexcept { return book_; }
    /// Where each part's vertices of each type lie, in a graph of several.
    [[nodiscard]] const TypeBook& types() const noexcept { return types_; }
    [[nodiscard]] PartId parts() const noexcept { return book_.parts(); }
    [[nodiscard]] const graph::ArrayFolder& folder() const noexcept { return folder_; }
    /// Opens part p.
    [[nodiscard]] Part part(PartId p) const;
    /// Opens all of them.
    [[nodiscard]] std::vector<Part> all_parts() const;

    /// Verifies every checksum and every invariant of the format; an input Error names the first
    /// that does not hold.
    void check() const;

private:
    void check_against_first_part() const;
    void check_sums(const std::vector<Part>& parts, const std::vector<PartFigures>& figures) const;
    void check_permutation(const std::vector<Part>& parts) const;
    void check_types(const std::vector<Part>& parts) const;
    [[nodiscard]] graph::TopologyCounts count_irregular_rows(const Part& part) const;
    void check_symmetry(const std::vector<Part>& parts) const;

    graph::ArrayFolder folder_;
    graph::DatasetInfo info_;
    PartitionSummary summary_;
    PartitionBook book_;
    TypeBook types_;
    std::vector<std::uint64_t> part_checksums_;
};

}  // namespace rudder::partition
