// Feature rows on their way to disk: checked, converted to the type asked for, never held whole.
#pragma once

#include <optional>

#include "rudder/core/progress.hpp"
#include "rudder/graph/array_folder.hpp"
#include "rudder/graph/feature_source.hpp"

namespace rudder::graph {

/// Writes "features" (and "feature_scale") for `vertices` rows; what they are as stored. A wrong
/// number of rows, or a value that is not finite or does not fit `type`, is an input Error; a
/// conversion that makes no sense a usage Error.
FeatureInfo write_features(ArrayFolderWriter& writer, const FeatureSource& source,
                           VertexId vertices, std::optional<ElementType> type, Progress& progress);

}  // namespace rudder::graph
