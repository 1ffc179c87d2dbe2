#include "rudder/core/version.hpp"

namespace rudder {

std::string_view version() noexcept {
    return RUDDER_VERSION;
}

BuildInfo build_info() noexcept {
    return {
        .version = RUDDER_VERSION,
        .compiler = RUDDER_COMPILER,
        .build_type = RUDDER_BUILD_TYPE,
        .checks = RUDDER_CHECKS,
        .sanitizers = RUDDER_SANITIZERS,
        .mpi = RUDDER_MPI,
    };
}

}  // namespace rudder
