#include "part_sizes.hpp"

#include <algorithm>

#include "rudder/core/error.hpp"

namespace rudder::partition {

namespace {

constexpr PartId most_sized_parts = 1024;

/// The halo of a part is sorted, and every part owns a range of ids.
std::vector<VertexId> halo_by_owner(const Part& part, const PartitionBook& book) {
    std::vector<VertexId> rows;
    auto begin = part.halo().begin();
    for (PartId owner = 0; owner < book.parts(); ++owner) {
        const auto end = std::lower_bound(begin, part.halo().end(), book.range(owner).end);
        rows.push_back(static_cast<VertexId>(end - begin));
        begin = end;
    }
    return rows;
}

}  // namespace

std::optional<PartSizes> part_sizes(const PartitionedDataset& data) {
    if (data.parts() > most_sized_parts) return std::nullopt;
    PartSizes sizes;
    try {
        for (PartId p = 0; p < data.parts(); ++p) {
            const Part part = data.part(p);
            sizes.vertices.push_back(part.own());
            sizes.train.push_back(part.info().split.train);
            sizes.edges.push_back(part.info().edges);
            if (data.parts() <= most_matrix_parts)
                sizes.halo_from.push_back(halo_by_owner(part, data.book()));
        }
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) throw;
        return std::nullopt;  // it lies on another machine, or whoever trains on it will say
    }
    return sizes;
}

}  // namespace rudder::partition
