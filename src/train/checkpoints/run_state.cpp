#include "run_state.hpp"

#include "core/fields_json.hpp"
#include "rudder/core/checksum.hpp"

namespace rudder::train {

Json to_json(const RunState& state) {
    Json json = fields_json(state);
    json["digest"] = to_hex(state.digest);
    return json;
}

RunState run_state_from_json(const Json& json, const std::string& where) {
    auto state = fields_from_json<RunState>(json, where);
    state.digest = from_hex(json_string(json, "digest", where), where);
    return state;
}

}  // namespace rudder::train
