// A decision as a line of a log.
#include "core/json.hpp"

#include "decision_log.hpp"

namespace rudder::steer {

std::string log_line(const DecisionRecord& record) {
    Json line = to_json(record);
    const auto seen = line.find("observation");
    if (seen != line.end() && seen->is_object()) (*seen)["history"] = Json::array();
    return line.dump();
}

}  // namespace rudder::steer
