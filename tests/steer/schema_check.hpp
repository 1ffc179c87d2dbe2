// A small validator of JSON schemas: the keywords that ours use.
#pragma once

#include "rudder/core/json_fwd.hpp"

namespace rudder::test {

/// Whether a value fits a schema. A keyword it does not know is a failure of the test.
[[nodiscard]] bool fits_schema(const Json& value, const Json& schema);
/// The schema of an observation.
[[nodiscard]] Json observation_schema();

}  // namespace rudder::test
