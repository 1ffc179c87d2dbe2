#include "rudder/graph/provenance.hpp"

#include "core/json.hpp"

namespace rudder::graph {

Json made_by_json(const Provenance& provenance) {
    if (provenance.made_by.empty()) return nullptr;
    return parse_json(provenance.made_by, "the command that made this");
}

}  // namespace rudder::graph
