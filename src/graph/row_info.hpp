// What rows of features are, in manifests.
#pragma once

#include <string>

#include "rudder/core/json_fwd.hpp"
#include "rudder/graph/features.hpp"

namespace rudder::graph {

/// Under "features" of an entry: none where it is null.
[[nodiscard]] FeatureInfo feature_info(const Json& entry, const std::string& where);
/// What stands there.
[[nodiscard]] Json feature_json(const FeatureInfo& info);

}  // namespace rudder::graph
