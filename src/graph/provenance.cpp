#include "rudder/graph/provenance.hpp"

#include "rudder/core/json.hpp"

namespace rudder {

Json made_by_json(const Provenance& provenance) {
    if (provenance.made_by.empty()) return nullptr;
    return parse_json(provenance.made_by, "the command that made this");
}

}  // namespace rudder
