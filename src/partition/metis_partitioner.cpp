#include "metis_partitioner.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "core/build_parts.hpp"
#include "core/system.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"

#include "repair.hpp"

namespace rudder::partition {

namespace {

/// Which vertices METIS counts apart, where it balances vertices: those of each type of several, of
/// which the smaller ones may be one group, since every constraint takes memory and quality.
class VertexGroups {
public:
    VertexGroups(const PartitionInput& input, const Loads& limits) {
        if (!limits.active(0)) return;
        count_ = 1;
        if (input.types.size() < 2) return;
        std::vector<std::size_t> order(input.types.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, std::greater<>(),
                                 [&](std::size_t t) { return input.types[t].vertices; });
        group_.resize(order.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            group_[order[i]] = std::min(i, most_groups - 1);
        count_ = std::min(order.size(), most_groups);
        for (const graph::VertexType& type : input.types)
            ends_.push_back(type.first + type.vertices);
    }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t of(VertexId v) const noexcept {
        if (group_.empty()) return 0;
        const auto type = std::ranges::upper_bound(ends_, v) - ends_.begin();
        return group_[static_cast<std::size_t>(type)];
    }

private:
    static constexpr std::size_t most_groups = 8;
    std::size_t count_ = 0;           ///< constraints; 0: vertices are not balanced
    std::vector<std::size_t> group_;  ///< by type
    std::vector<VertexId> ends_;      ///< by type
};

/// The balanced weights of every vertex, row by row; empty where only vertices count.
Array<std::int32_t> constraint_weights(const PartitionInput& input, const Loads& limits,
                                       const VertexGroups& groups, std::size_t constraints) {
    if (constraints == 1 && limits.active(0)) return {};
    auto weights = Array<std::int32_t>::uninitialised(input.vertices() * constraints);
    parallel_chunks(input.vertices(), std::size_t{1} << 16, [&](const Chunk& chunk) {
        std::size_t at = chunk.begin * constraints;
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            const Weights w = weights_of(input, v);
            const std::size_t group = groups.of(v);
            for (std::size_t g = 0; g < groups.count(); ++g)
                weights[at++] = g == group ? 1 : 0;
            for (std::size_t c = 1; c < balance_kinds; ++c) {
                if (limits.active(c)) weights[at++] = narrow<std::int32_t>(w[c], "degree");
            }
        }
    });
    return weights;
}

}  // namespace

std::uint64_t metis_bytes(VertexId vertices, EdgeIndex arcs, std::size_t constraints) {
    return checked_add(checked_mul<std::uint64_t>(arcs, 70, "memory of METIS"),
                       checked_mul<std::uint64_t>(vertices, 64 * constraints, "memory of METIS"),
                       "memory of METIS");
}

std::optional<std::string> metis_refusal(VertexId vertices, EdgeIndex arcs, std::size_t constraints,
                                         std::uint64_t available) {
    if (!built_in("METIS")) return "this build has no METIS";
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

Assignment assign_metis(const PartitionInput& input, const PartitionOptions& options,
                        Progress& progress) {
    const Loads limits(input, options);
    const VertexGroups groups(input, limits);
    std::size_t constraints = groups.count();
    for (std::size_t c = 1; c < balance_kinds; ++c)
        constraints += limits.active(c) ? 1U : 0U;
    if (constraints == 0 || input.graph.edges() == 0) {
        // Nothing to cut: METIS has nothing to do, and some of its versions crash.
        PartitionOptions deal = options;
        deal.method = "random";
        return assign_parts(input, deal, progress);
    }
    const auto refusal =
        metis_refusal(input.vertices(), input.graph.edges(), constraints, memory_info().available);
    if (!built_in("METIS")) throw missing_part("METIS", "--method metis", "use --method ldg");
    if (refusal) throw usage_error(*refusal, "--method metis", other_method);
    progress.phase("METIS", 0);
    const auto weights = constraint_weights(input, limits, groups, constraints);
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
