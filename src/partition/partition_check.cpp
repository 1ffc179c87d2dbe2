#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

namespace rudder::partition {

namespace {

constexpr std::size_t checked_per_chunk = 1 << 12;
constexpr const char* remake_partition = "make the partition again, or restore it from a copy";

bool same_kind(const graph::DatasetInfo& a, const graph::DatasetInfo& b) {
    return a.symmetric == b.symmetric && a.features.width == b.features.width &&
           a.features.type == b.features.type &&
           a.features.row_normalise == b.features.row_normalise &&
           a.targets.kind == b.targets.kind && a.targets.count == b.targets.count;
}

/// How often global vertex v stands in the row of own vertex `row` of a part.
std::size_t entries_of(const Part& part, LocalId row, VertexId v) {
    const auto entries = part.row(row);
    const auto global = [&](LocalId local) { return part.global(local); };
    const auto first = std::ranges::lower_bound(entries, v, {}, global);
    const auto last = std::ranges::upper_bound(entries, v, {}, global);
    return static_cast<std::size_t>(last - first);
}

}  // namespace

void PartitionedDataset::check_sums(const std::vector<Part>& parts,
                                    const std::vector<PartFigures>& figures) const {
    const std::string where = folder_.manifest_path();
    graph::DatasetInfo sum;
    for (const Part& part : parts) {
        const graph::DatasetInfo& own = part.info();
        if (!same_kind(own, info_)) {
            throw input_error("a part's features or targets are not of the kind of the whole",
                              part.folder().manifest_path(), remake_partition);
        }
        const graph::TopologyCounts counts = count_irregular_rows(part);
        if (counts.self_loops != own.self_loops || counts.duplicates != own.duplicates) {
            throw input_error("self loops or duplicates are not as many as the manifest says",
                              part.folder().manifest_path(), remake_partition);
        }
        sum.edges += own.edges;
        sum.self_loops += own.self_loops;
        sum.duplicates += own.duplicates;
        sum.targets.labelled += own.targets.labelled;
        sum.split.train += own.split.train;
        sum.split.valid += own.split.valid;
        sum.split.test += own.split.test;
    }
    if (sum.edges != info_.edges || sum.self_loops != info_.self_loops ||
        sum.duplicates != info_.duplicates || sum.targets.labelled != info_.targets.labelled ||
        sum.split != info_.split) {
        throw input_error("the parts' counts do not add up to those of the whole", where,
                          remake_partition);
    }
    PartitionSummary found = summary_;
    set_figures(found, figures);
    if (found.cut != summary_.cut || found.balance != summary_.balance ||
        found.train_balance != summary_.train_balance ||
        found.edge_balance != summary_.edge_balance || found.halo != summary_.halo) {
        throw input_error("the cut, the balance or the halo is not what the manifest says", where,
                          remake_partition);
    }
}

graph::TopologyCounts PartitionedDataset::count_irregular_rows(const Part& part) const {
    std::atomic<EdgeIndex> loops{0};
    std::atomic<EdgeIndex> duplicates{0};
    parallel_chunks(part.own(), checked_per_chunk, [&](const Chunk& chunk) {
        graph::TopologyCounts own;
        for (std::size_t v = chunk.begin; v < chunk.end; ++v) {
            const auto row = part.row(static_cast<LocalId>(v));
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (row[i] == v) ++own.self_loops;
                if (i > 0 && row[i] == row[i - 1]) ++own.duplicates;
            }
        }
        loops += own.self_loops;
        duplicates += own.duplicates;
    });
    return {loops, duplicates};
}

void PartitionedDataset::check_permutation(const std::vector<Part>& parts) const {
    auto seen = Array<std::uint64_t>::zeroed(info_.vertices / 64 + 1);
    for (const Part& part : parts) {
        for (std::size_t i = 0; i < part.original_ids().size(); ++i) {
            const VertexId v = part.original_ids()[i];
            const std::uint64_t bit = std::uint64_t{1} << (v % 64);
            if ((seen[v / 64] & bit) != 0) {
                throw input_error(fmt::format("vertex {} occurs twice", v),
                                  fmt::format("{}, array 'original_ids', position {}",
                                              part.folder().path().string(), i),
                                  remake_partition);
            }
            seen[v / 64] |= bit;
        }
    }
}

void PartitionedDataset::check_symmetry(const std::vector<Part>& parts) const {
    for (const Part& part : parts) {
        parallel_chunks(part.own(), checked_per_chunk, [&](const Chunk& chunk) {
            for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                const auto row = part.row(static_cast<LocalId>(i));
                const VertexId v = part.range().begin + i;
                for (std::size_t e = 0; e < row.size();) {
                    std::size_t end = e + 1;
                    while (end < row.size() && row[end] == row[e])
                        ++end;
                    const VertexId u = part.global(row[e]);
                    const Part& owner = parts[book_.owner(u)];
                    const auto there = static_cast<LocalId>(u - owner.range().begin);
                    if (entries_of(owner, there, v) != end - e) {
                        throw input_error(
                            fmt::format("the edge {} - {} is not stored both ways, though the "
                                        "manifest says so",
                                        u, v),
                            part.folder().path().string(), remake_partition);
                    }
                    e = end;
                }
            }
        });
    }
}

void PartitionedDataset::check() const {
    const std::vector<Part> parts = all_parts();
    std::vector<PartFigures> figures;
    for (const Part& part : parts)
        figures.push_back(part.check(info_.vertices));
    check_sums(parts, figures);
    check_permutation(parts);
    if (info_.symmetric) check_symmetry(parts);
}

}  // namespace rudder::partition
