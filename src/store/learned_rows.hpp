// Which rows are learned: those of vertices without features, where a run gives them some.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "rudder/partition/partitioned_dataset.hpp"

namespace rudder::store {

/// Of which rows something is done: of all, of those that the data set has, or of learned ones.
enum class RowChoice : std::uint8_t { all, given, learned };

/// Columns of learned rows by type of vertices (one number for a graph of one type); 0: the rows of
/// that type are not learned. Empty: none are.
using LearnedWidths = std::vector<std::uint64_t>;

/// A data set as networks see it: what has learned rows has features of so many float32.
[[nodiscard]] graph::DatasetInfo with_learned(graph::DatasetInfo info,
                                              std::span<const std::uint64_t> widths);

/// The vertices whose rows are learned.
class LearnedSet {
public:
    /// Vertices of one part and type.
    struct Stretch {
        VertexId begin;
        VertexId end;
        std::uint64_t width;  ///< floats of a row that are learned
        PartId part;
    };

    LearnedSet() = default;
    LearnedSet(const partition::PartitionedDataset& data, std::span<const std::uint64_t> widths);

    [[nodiscard]] bool empty() const noexcept { return stretches_.empty(); }
    /// In the order of ids.
    [[nodiscard]] std::span<const Stretch> stretches() const noexcept { return stretches_; }
    [[nodiscard]] bool contains(VertexId v) const noexcept {
        const auto after = std::ranges::upper_bound(ranges_, v, {}, &Range::begin);
        return after != ranges_.begin() && v < (after - 1)->end;
    }
    /// Whether a choice leaves the row of a vertex out.
    [[nodiscard]] bool leaves_out(RowChoice choice, VertexId v) const noexcept {
        return choice != RowChoice::all && contains(v) != (choice == RowChoice::learned);
    }

private:
    struct Range {
        VertexId begin;
        VertexId end;
    };
    std::vector<Stretch> stretches_;
    std::vector<Range> ranges_;  ///< the same, those that touch as one
};

}  // namespace rudder::store
