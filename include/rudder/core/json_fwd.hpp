// The name of the JSON type, for headers: the library's own header is heavy.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace rudder {

/// A JSON value whose objects keep the order of their keys.
using Json = nlohmann::ordered_json;

}  // namespace rudder
