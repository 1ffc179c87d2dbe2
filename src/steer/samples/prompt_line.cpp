#include "prompt_line.hpp"

#include "core/json.hpp"

namespace rudder::steer {

Json to_json(const PromptLine& line, const std::string& graph) {
    Json object{{"system", line.system}, {"user", line.user}, {"graph", graph},
                {"step", line.step},     {"host", line.host}, {"setting", to_json(line.setting)}};
    object["horizon"] = line.horizon;
    Json& actions = object["actions"] = Json::array();
    for (const PricedAction& one : line.actions) {
        actions.push_back({{"reply", to_json(one.action)},
                           {"rows", one.rows},
                           {"seconds", one.seconds ? Json(*one.seconds) : Json(nullptr)}});
    }
    object["keep"] = line.keep;
    return object;
}

}  // namespace rudder::steer
