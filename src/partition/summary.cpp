#include "rudder/partition/summary.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/checked.hpp"

namespace rudder::partition {

namespace {

constexpr const char* remake_summary = "make the partition again";

/// The largest value over the mean; 1 where all are 0.
template <class Get>
double largest_over_mean(const std::vector<PartFigures>& parts, Get&& get) {
    std::uint64_t most = 0;
    std::uint64_t sum = 0;
    for (const PartFigures& part : parts) {
        most = std::max<std::uint64_t>(most, get(part));
        sum += get(part);
    }
    if (sum == 0) return 1;
    return static_cast<double>(most) * static_cast<double>(parts.size()) / static_cast<double>(sum);
}

}  // namespace

void set_figures(PartitionSummary& summary, const std::vector<PartFigures>& parts) {
    summary.parts = narrow<PartId>(parts.size(), "number of parts");
    std::uint64_t edges = 0;
    std::uint64_t crossing = 0;
    summary.halo.clear();
    for (const PartFigures& part : parts) {
        edges += part.edges;
        crossing += part.crossing;
        summary.halo.push_back(part.halo);
    }
    summary.cut = edges == 0 ? 0 : static_cast<double>(crossing) / static_cast<double>(edges);
    summary.balance = largest_over_mean(parts, [](const PartFigures& p) { return p.vertices; });
    summary.train_balance = largest_over_mean(parts, [](const PartFigures& p) { return p.train; });
    summary.edge_balance = largest_over_mean(parts, [](const PartFigures& p) { return p.edges; });
    summary.type_balance.clear();
    for (std::size_t t = 0; t < parts.front().types.size(); ++t) {
        summary.type_balance.push_back(
            largest_over_mean(parts, [t](const PartFigures& p) { return p.types[t]; }));
    }
}

void describe(const PartitionSummary& summary, Json& manifest) {
    manifest["parts"] = summary.parts;
    manifest["cut"] = summary.cut;
    manifest["balance"] = summary.balance;
    manifest["train_balance"] = summary.train_balance;
    manifest["edge_balance"] = summary.edge_balance;
    if (!summary.type_balance.empty()) manifest["type_balance"] = summary.type_balance;
    manifest["halo"] = summary.halo;
    manifest["method"] = summary.method;
    manifest["options"] = {{"balance", to_string(summary.balanced)},
                           {"slack", summary.slack},
                           {"passes", summary.passes},
                           {"order", to_string(summary.order)},
                           {"seed", summary.seed},
                           {"cluster_size", summary.cluster_size}};
    manifest["warnings"] = summary.warnings;
}

PartitionSummary partition_summary(const Json& manifest, const std::string& where) {
    PartitionSummary summary;
    const std::uint64_t parts = json_u64(manifest, "parts", where);
    if (parts == 0 || !std::in_range<PartId>(parts)) {
        throw input_error(fmt::format("invalid number of parts: {}", parts), where, remake_summary);
    }
    summary.parts = static_cast<PartId>(parts);
    summary.cut = json_number(manifest, "cut", where);
    summary.balance = json_number(manifest, "balance", where);
    summary.train_balance = json_number(manifest, "train_balance", where);
    summary.edge_balance = json_number(manifest, "edge_balance", where);
    if (const auto types = manifest.find("type_balance"); types != manifest.end()) {
        for (const Json& balance : *types) {
            if (!balance.is_number())
                throw input_error("invalid type_balance: not all numbers", where, remake_summary);
            summary.type_balance.push_back(balance.get<double>());
        }
    }
    summary.method = json_string(manifest, "method", where);
    const Json& halo = json_field(manifest, "halo", where);
    if (!halo.is_array() || halo.size() != summary.parts) {
        throw input_error("invalid halo: not one number per part", where, remake_summary);
    }
    for (const Json& rows : halo) {
        if (!rows.is_number_unsigned()) {
            throw input_error("invalid halo: not all integers", where, remake_summary);
        }
        summary.halo.push_back(rows.get<VertexId>());
    }
    const Json& options = json_field(manifest, "options", where);
    try {
        summary.balanced = parse_balance(json_string(options, "balance", where));
        summary.order = parse_stream_order(json_string(options, "order", where));
    } catch (const Error& error) {
        throw input_error(error.problem(), where, remake_summary);
    }
    summary.slack = json_number(options, "slack", where);
    summary.passes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(json_u64(options, "passes", where), ~std::uint32_t{0}));
    summary.seed = json_u64(options, "seed", where);
    summary.cluster_size = json_u64(options, "cluster_size", where);
    for (const Json& text : json_field(manifest, "warnings", where)) {
        if (!text.is_string())
            throw input_error("invalid warning: not a string", where, remake_summary);
        summary.warnings.push_back(text.get<std::string>());
    }
    return summary;
}

}  // namespace rudder::partition
