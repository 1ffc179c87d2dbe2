#include "renumber.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/system.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/partition/part.hpp"

#include "metis_partitioner.hpp"

namespace rudder::partition {

namespace {

/// Sorts `items` by `keys` below `limit`, keeping the order of equals; the offsets of the keys.
std::vector<VertexId> group_by(std::span<const PartId> keys, PartId limit,
                               std::span<const VertexId> items, std::span<VertexId> sorted) {
    std::vector<VertexId> offsets(limit + std::size_t{1}, 0);
    for (const PartId key : keys)
        ++offsets[key + std::size_t{1}];
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<VertexId> cursor(offsets.begin(), offsets.end() - 1);
    for (std::size_t i = 0; i < keys.size(); ++i)
        sorted[cursor[keys[i]]++] = items[i];
    return offsets;
}

/// The part of the graph inside one range of new ids, in ids from the range's start.
graph::Topology inner_graph(const graph::TopologyView& graph, std::span<const VertexId> original,
                            std::span<const VertexId> renumbered, PartitionBook::Range range) {
    auto offsets = Array<EdgeIndex>::zeroed(range.size() + 1);
    return graph.neighbours.visit([&](auto neighbours) {
        const auto for_inner = [&](VertexId local, auto&& body) {
            const VertexId v = original[range.begin + local];
            for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
                const VertexId u = renumbered[neighbours[e]];
                if (range.contains(u)) body(static_cast<std::uint32_t>(u - range.begin));
            }
        };
        for (VertexId i = 0; i < range.size(); ++i) {
            offsets[i + 1] = offsets[i];
            for_inner(i, [&](std::uint32_t) { ++offsets[i + 1]; });
        }
        auto entries = Array<std::uint32_t>::uninitialised(offsets[range.size()]);
        EdgeIndex at = 0;
        for (VertexId i = 0; i < range.size(); ++i)
            for_inner(i, [&](std::uint32_t u) { entries[at++] = u; });
        return graph::Topology(std::move(offsets), IdArray(std::move(entries)));
    });
}

/// Which cluster each vertex of a part's own graph is in; some may be empty.
Array<PartId> cluster_parts(const graph::TopologyView& inner, PartId clusters,
                            const PartitionOptions& options) {
    const bool able = options.method == "metis" && inner.edges() != 0 &&
                      !metis_refusal(inner.vertices(), inner.edges(), 1, memory_info().available);
    if (able) {
        try {
            return call_metis({.graph = inner,
                               .weights = {},
                               .constraints = 1,
                               .parts = clusters,
                               .slack = 0.05,
                               .seed = options.seed,
                               .iterations = 2});  // more takes longer and finds little
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::failed) throw;
            log::warning(fmt::format("METIS failed on the clusters of a part: {}; LDG makes them",
                                     error.problem()));
        }
    }
    PartitionOptions stream;
    stream.parts = clusters;
    stream.method = "ldg";
    stream.balance = BalanceSet{.vertices = true, .train = false, .edges = false};
    stream.passes = 4;
    stream.order = options.order;
    stream.seed = options.seed;
    return assign_parts({inner, inner, {}}, stream).parts;
}

/// The number of a vertex's type among the ends of types' stretches of ids.
PartId type_number(std::span<const VertexId> ends, VertexId v) noexcept {
    return static_cast<PartId>(std::ranges::upper_bound(ends, v) - ends.begin());
}

/// Reorders one part by type and cluster; the offsets of the clusters that are not empty. `ends`
/// are those of the types' stretches of original ids, where there are several.
std::vector<VertexId> order_by_cluster(const graph::TopologyView& graph, Renumbering& order,
                                       PartId part, const PartitionOptions& options,
                                       std::span<const VertexId> ends) {
    const auto range = order.book.range(part);
    const VertexId size = range.size();
    check_local_ids(part, size, 0);
    const VertexId wanted =
        std::max<VertexId>(1, (size + options.cluster_size / 2) / options.cluster_size);
    const auto clusters = narrow<PartId>(std::min(wanted, size), "number of clusters");
    // Vertices are in the order of original ids, and so of types, as long as nobody moves them.
    const auto own = order.original.span().subspan(range.begin, size);
    if (clusters == 1 && ends.empty()) return {0, size};
    Array<PartId> cluster;
    if (clusters > 1) {
        const graph::Topology inner =
            inner_graph(graph, order.original.span(), order.renumbered.span(), range);
        cluster = cluster_parts(inner.view(), clusters, options);
    } else {
        cluster = Array<PartId>::uninitialised(size);
        std::fill(cluster.begin(), cluster.end(), PartId{0});
    }
    const auto types = static_cast<PartId>(std::max<std::size_t>(1, ends.size()));
    const PartId groups = checked_mul(clusters, types, "number of clusters");
    for (VertexId i = 0; !ends.empty() && i < size; ++i)
        cluster[i] += type_number(ends, own[i]) * clusters;
    const auto before = Array<VertexId>::copy_of(own);
    std::vector<VertexId> offsets = group_by(cluster.span(), groups, before.span(), own);
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    return offsets;
}

void invert(std::span<const VertexId> original, std::span<VertexId> renumbered) {
    parallel_chunks(original.size(), std::size_t{1} << 16, [&](const Chunk& chunk) {
        for (VertexId i = chunk.begin; i < chunk.end; ++i)
            renumbered[original[i]] = i;
    });
}

/// Where each part's vertices of each type begin.
TypeBook book_of_types(const Renumbering& order, std::span<const VertexId> ends) {
    std::vector<VertexId> starts;
    for (PartId p = 0; p < order.book.parts(); ++p) {
        const auto range = order.book.range(p);
        const auto own = order.original.span().subspan(range.begin, range.size());
        std::vector<VertexId> counts(ends.size(), 0);
        for (const VertexId v : own)
            ++counts[type_number(ends, v)];
        VertexId at = range.begin;
        for (const VertexId count : counts) {
            starts.push_back(at);
            at += count;
        }
    }
    starts.push_back(order.book.vertices());
    return {std::move(starts), ends.size()};
}

}  // namespace

Renumbering renumber(const graph::TopologyView& graph, std::span<const PartId> parts,
                     const PartitionOptions& options, std::span<const graph::VertexType> types,
                     Progress& progress) {
    std::vector<VertexId> ends;
    for (const graph::VertexType& type : types)
        ends.push_back(type.first + type.vertices);
    const VertexId n = graph.vertices();
    auto all = Array<VertexId>::uninitialised(n);
    std::iota(all.begin(), all.end(), VertexId{0});
    Renumbering order;
    order.original = Array<VertexId>::uninitialised(n);
    order.book = PartitionBook(group_by(parts, options.parts, all.span(), order.original.span()));
    all = {};
    order.renumbered = Array<VertexId>::uninitialised(n);
    invert(order.original.span(), order.renumbered.span());
    order.clusters.resize(options.parts);
    progress.phase("clusters", options.parts);
    // A part's own order says nothing about the others', so they can be made at the same time.
    parallel_chunks(options.parts, metis_has_processes ? 1 : options.parts, [&](const Chunk& some) {
        for (std::size_t i = some.begin; i < some.end; ++i) {
            const auto part = static_cast<PartId>(i);
            order.clusters[part] = order_by_cluster(graph, order, part, options, ends);
            progress.advance(1);
        }
    });
    invert(order.original.span(), order.renumbered.span());
    if (!ends.empty()) order.types = book_of_types(order, ends);
    return order;
}

}  // namespace rudder::partition
