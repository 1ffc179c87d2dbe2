// The call of METIS, in a child process of its own.
#include <algorithm>

#include <fmt/format.h>
#include <metis.h>

#include "rudder/core/array.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"

#include "child_process.hpp"
#include "metis_partitioner.hpp"

namespace rudder::partition {

static_assert(sizeof(idx_t) == 4, "written for a METIS with a 32-bit index");

namespace {

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

Array<PartId> call_metis(const MetisCall& call) {
    const VertexId n = call.graph.vertices();
    RUDDER_CHECK(!call.graph.neighbours.wide() && call.parts >= 2 && n >= 1);
    auto offsets = Array<std::int32_t>::uninitialised(n + 1);
    for (VertexId v = 0; v <= n; ++v)
        offsets[v] = narrow<std::int32_t>(call.graph.offsets[v], "offset for METIS");
    const Region shared = Region::allocate_shared(n * sizeof(std::int32_t));
    auto* result = reinterpret_cast<std::int32_t*>(shared.data());
    const auto work = [&] { return partition_graph(call, offsets.span(), result); };
    if constexpr (metis_has_processes) {
        run_in_child("METIS", other_method, work);
    } else if (const int code = work(); code != 0) {
        throw Error(ErrorKind::failed, fmt::format("METIS ended with code {}", code), "",
                    other_method);
    }
    auto parts = Array<PartId>::uninitialised(n);
    for (VertexId v = 0; v < n; ++v) {
        RUDDER_CHECK(result[v] >= 0 && static_cast<PartId>(result[v]) < call.parts);
        parts[v] = static_cast<PartId>(result[v]);
    }
    return parts;
}

}  // namespace rudder::partition
