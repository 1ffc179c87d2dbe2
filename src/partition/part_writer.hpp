// Writes one part of a partitioned data set from the data set it comes from.
#pragma once

#include <filesystem>

#include "rudder/graph/dataset.hpp"
#include "rudder/partition/summary.hpp"

#include "renumber.hpp"

namespace rudder::partition {

/// A part as written.
struct WrittenPart {
    PartFigures figures;
    std::uint64_t manifest_checksum = 0;
};

/// Writes part `part` into the new folder `folder`. Rows of features and labels are gathered from
/// the mapped data set in pieces of bounded size; only the part's own structure is in memory.
[[nodiscard]] WrittenPart write_part(const graph::Dataset& data, const Renumbering& order,
                                     PartId part, const std::filesystem::path& folder,
                                     Progress& progress);

}  // namespace rudder::partition
