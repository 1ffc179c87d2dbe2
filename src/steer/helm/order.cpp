// Orders on their way: one short text each.
#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/steer/helm.hpp"

namespace rudder::steer {

std::string to_text(const Order& order) {
    return Json{to_json(order.action), order.effective_step, order.slots}.dump();
}

Order parse_order(std::string_view text) {
    const std::string where = "an order";
    const Json json = parse_json(std::string(text), where);
    if (!json.is_array() || json.size() != 3 || !json[1].is_number_unsigned() ||
        !json[2].is_number_unsigned()) {
        throw Error(ErrorKind::failed, fmt::format("'{}' is no order", text), where,
                    "run the same version on all ranks");
    }
    return {parse_action(json[0], where), json[1].get<std::uint64_t>(),
            json[2].get<std::uint64_t>()};
}

}  // namespace rudder::steer
