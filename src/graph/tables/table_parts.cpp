#include "table_parts.hpp"

#include <fmt/format.h>

#include "core/log.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::graph {

std::unique_ptr<IdMap> map_ids(const VertexIds& ids, const Table& table,
                               const VertexTable& meaning) {
    auto map = std::make_unique<IdMap>(ids);
    if (const auto& twice = map->duplicate()) {
        throw input_error(
            fmt::format("id '{}' occurs twice; the first is in {}",
                        shown_cell(ids.name(twice->first)), table.where(twice->first, meaning.id)),
            table.where(twice->second, meaning.id), "give every vertex an id of its own");
    }
    return map;
}

void warn_dropped(const TableEdges& edges, const std::string& type) {
    if (edges.dropped() == 0) return;
    log::warning(fmt::format("{} of {} edges{} are left out: they name a vertex that has no row",
                             format_count(edges.dropped()),
                             format_count(edges.dropped() + edges.edges()),
                             type.empty() ? "" : fmt::format(" of type '{}'", type)));
}

}  // namespace rudder::graph
