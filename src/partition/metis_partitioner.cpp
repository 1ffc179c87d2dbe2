#include "metis_partitioner.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <metis.h>

#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"

#include "child_process.hpp"
#include "repair.hpp"

namespace rudder::partition {

static_assert(sizeof(idx_t) == 4, "written for a METIS with a 32-bit index");

namespace {

constexpr std::uint64_t index_limit = std::numeric_limits<std::int32_t>::max();
constexpr const char* other_method = "give --method ldg (or fennel), which has no such limit";

/// The balanced weights of every vertex, row by row; empty where only vertices count.
Array<std::int32_t> constraint_weights(const PartitionInput& input, const Loads& limits,
                                       std::size_t constraints) {
    if (constraints == 1 && limits.active(0)) return {};
    auto weights = Array<std::int32_t>::uninitialised(input.vertices() * constraints);
    parallel_chunks(input.vertices(), std::size_t{1} << 16, [&](const Chunk& chunk) {
        std::size_t at = chunk.begin * constraints;
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            const Weights w = weights_of(input, v);
            for (std::size_t c = 0; c < balance_kinds; ++c) {
                if (limits.active(c)) weights[at++] = narrow<std::int32_t>(w[c], "degree");
            }
        }
    });
    return weights;
}

/// Runs in the child.
int partition_graph(const MetisCall& call, std::span<std::int32_t> offsets, std::int32_t* result) {
    auto vertices = static_cast<idx_t>(call.graph.vertices());
    auto constraints = static_cast<idx_t>(call.constraints);
    auto parts = static_cast<idx_t>(call.parts);
    idx_t cut = 0;
    idx_t options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_NUMBERING] = 0;
    // Its generator takes 0 and 1 for the same.
    options[METIS_OPTION_SEED] = static_cast<idx_t>(call.seed % (index_limit - 1)) + 1;
    options[METIS_OPTION_NITER] = call.iterations;
    options[METIS_OPTION_UFACTOR] =
        std::max(1, static_cast<idx_t>(std::min(call.slack, 10.0) * 1000));
    // METIS reads these arrays only, though its interface does not say so.
    auto* neighbours =
        const_cast<idx_t*>(reinterpret_cast<const idx_t*>(call.graph.neighbours.as_bytes().data()));
    auto* weights = call.weights.empty() ? nullptr : const_cast<idx_t*>(call.weights.data());
    const int status =
        METIS_PartGraphKway(&vertices, &constraints, offsets.data(), neighbours, weights, nullptr,
                            nullptr, &parts, nullptr, nullptr, options, &cut, result);
    return status == METIS_OK ? 0 : status == METIS_ERROR_MEMORY ? 3 : 2;
}

}  // namespace

std::uint64_t metis_bytes(VertexId vertices, EdgeIndex arcs, std::size_t constraints) {
    return checked_add(checked_mul<std::uint64_t>(arcs, 70, "memory of METIS"),
                       checked_mul<std::uint64_t>(vertices, 64 * constraints, "memory of METIS"),
                       "memory of METIS");
}

std::optional<std::string> metis_refusal(VertexId vertices, EdgeIndex arcs, std::size_t constraints,
                                         std::uint64_t available) {
    if (arcs > index_limit || vertices >= index_limit) {
        return fmt::format(
            "METIS has a 32-bit index: at most {} arcs and vertices; the graph has {} arcs (both "
            "ways) and {} vertices",
            format_count(index_limit), format_count(arcs), format_count(vertices));
    }
    const std::uint64_t needed = metis_bytes(vertices, arcs, constraints);
    if (needed > available) {
        return fmt::format("METIS needs about {} for {} arcs and {} vertices; {} are available",
                           format_bytes(needed), format_count(arcs), format_count(vertices),
                           format_bytes(available));
    }
    return std::nullopt;
}

Array<PartId> call_metis(const MetisCall& call) {
    const VertexId n = call.graph.vertices();
    RUDDER_CHECK(!call.graph.neighbours.wide() && call.parts >= 2 && n >= 1);
    auto offsets = Array<std::int32_t>::uninitialised(n + 1);
    for (VertexId v = 0; v <= n; ++v)
        offsets[v] = narrow<std::int32_t>(call.graph.offsets[v], "offset for METIS");
    const Region shared = Region::allocate_shared(n * sizeof(std::int32_t));
    auto* result = reinterpret_cast<std::int32_t*>(shared.data());
    run_in_child("METIS", other_method,
                 [&] { return partition_graph(call, offsets.span(), result); });
    auto parts = Array<PartId>::uninitialised(n);
    for (VertexId v = 0; v < n; ++v) {
        RUDDER_CHECK(result[v] >= 0 && static_cast<PartId>(result[v]) < call.parts);
        parts[v] = static_cast<PartId>(result[v]);
    }
    return parts;
}

Assignment MetisPartitioner::assign(const PartitionInput& input, const PartitionOptions& options,
                                    Progress& progress) const {
    const Loads limits(input, options);
    std::size_t constraints = 0;
    for (std::size_t c = 0; c < balance_kinds; ++c)
        constraints += limits.active(c) ? 1U : 0U;
    if (constraints == 0 || input.graph.edges() == 0) {
        // Nothing to cut: METIS has nothing to do, and some of its versions crash.
        PartitionOptions deal = options;
        deal.method = "random";
        return assign_parts(input, deal, progress);
    }
    const auto refusal =
        metis_refusal(input.vertices(), input.graph.edges(), constraints, memory_info().available);
    if (refusal) throw usage_error(*refusal, "--method metis", other_method);
    progress.phase("METIS", 0);
    const auto weights = constraint_weights(input, limits, constraints);
    // With several constraints METIS overshoots, and what it overshoots is repaired below.
    auto parts = call_metis({.graph = input.graph,
                             .weights = weights.span(),
                             .constraints = constraints,
                             .parts = options.parts,
                             .slack = constraints == 1 ? options.slack : 0.8 * options.slack,
                             .seed = options.seed});
    return finish_assignment(input, options, std::move(parts));
}

}  // namespace rudder::partition
