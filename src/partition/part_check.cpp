#include <atomic>
#include <bit>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "rudder/partition/part.hpp"

namespace rudder::partition {

namespace {

constexpr std::size_t part_vertices_per_chunk = 1 << 14;

Error bad_array(const std::string& what, const char* array, const std::string& where) {
    return input_error(what, fmt::format("{}, array '{}'", where, array),
                       "make the partition again, or restore it from a copy");
}

}  // namespace

void Part::check_halo(VertexId vertices, const std::string& where) const {
    for (std::size_t i = 0; i < halo_.size(); ++i) {
        if (halo_[i] >= vertices || range_.contains(halo_[i])) {
            throw bad_array(
                fmt::format("id {} at position {} is an own vertex or out of range", halo_[i], i),
                "halo", where);
        }
        if (i > 0 && halo_[i] <= halo_[i - 1]) {
            throw bad_array(fmt::format("the ids do not ascend at position {}", i), "halo", where);
        }
    }
}

/// Checks ids and order of every row and that no halo vertex is there in vain; the arcs that come
/// from the halo.
EdgeIndex Part::check_rows(const std::string& where) const {
    const VertexId limit = own() + halo_.size();
    auto used = Array<std::uint64_t>::zeroed(halo_.size() / 64 + 1);
    std::atomic<EdgeIndex> crossing{0};
    parallel_chunks(own(), part_vertices_per_chunk, [&](const Chunk& chunk) {
        EdgeIndex outside = 0;
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            for (EdgeIndex e = offsets_[v]; e < offsets_[v + 1]; ++e) {
                const LocalId u = neighbours_[e];
                if (u >= limit) {
                    throw bad_array(
                        fmt::format("id {} at position {} is out of range 0..{}", u, e, limit - 1),
                        "neighbours", where);
                }
                if (e > offsets_[v] && global(u) < global(neighbours_[e - 1])) {
                    throw bad_array(fmt::format("row {} does not ascend at position {}", v, e),
                                    "neighbours", where);
                }
                if (u < own()) continue;
                ++outside;
                const VertexId h = u - own();
                std::atomic_ref(used[h / 64])
                    .fetch_or(std::uint64_t{1} << (h % 64), std::memory_order_relaxed);
            }
        }
        crossing += outside;
    });
    VertexId count = 0;
    for (const std::uint64_t word : used)
        count += static_cast<VertexId>(std::popcount(word));
    if (count != halo_.size()) {
        throw bad_array(
            fmt::format("{} of {} vertices are in no row", halo_.size() - count, halo_.size()),
            "halo", where);
    }
    return crossing;
}

void Part::check_order(VertexId vertices, const std::string& where) const {
    for (VertexId v = 0; v < own(); ++v) {
        if (offsets_[v] > offsets_[v + 1]) {
            throw bad_array(fmt::format("offsets descend at position {}", v + 1), "offsets", where);
        }
        if (original_ids_[v] >= vertices) {
            throw bad_array(
                fmt::format("id {} at position {} is out of range", original_ids_[v], v),
                "original_ids", where);
        }
    }
    if (clusters_[0] != 0 || clusters_[clusters_.size() - 1] != own()) {
        throw bad_array("the offsets do not run from 0 to the number of own vertices", "clusters",
                        where);
    }
    for (std::size_t i = 1; i < clusters_.size(); ++i) {
        if (clusters_[i - 1] < clusters_[i]) continue;
        throw bad_array(fmt::format("offsets do not ascend at position {}", i), "clusters", where);
    }
}

PartFigures Part::check(VertexId vertices) const {
    const std::string where = folder_.path().string();
    folder_.verify_checksums();
    check_order(vertices, where);
    check_halo(vertices, where);
    const EdgeIndex crossing = check_rows(where);
    arrays_.check(info_, own(), where);
    return {own(), info_.split.train, info_.edges, crossing, halo_.size()};
}

}  // namespace rudder::partition
