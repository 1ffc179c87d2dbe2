// In place of LIBLINEAR where a build has none.
#include "core/build_parts.hpp"

#include "fit.hpp"

namespace rudder::steer {

void fit_linear(Model& /*model*/, const FitData& /*data*/) {
    throw missing_part("LIBLINEAR", "agent train", "fit another kind");
}

}  // namespace rudder::steer
