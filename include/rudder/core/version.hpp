// The version of this program, and how it was built.
#pragma once

#include <string_view>

namespace rudder {

/// "0.1.0".
[[nodiscard]] std::string_view version() noexcept;

/// How this build was configured. Texts are empty where the build has no such part.
struct BuildInfo {
    std::string_view version;
    std::string_view compiler;    ///< "GNU 12.2.0"
    std::string_view build_type;  ///< "Release", "Debug", ...
    std::string_view checks;      ///< assertion level: "light", "normal" or "heavy"
    std::string_view sanitizers;  ///< "", "address" or "thread"
    std::string_view mpi;         ///< what `mpiexec --version` said: "mpirun (Open MPI) 4.1.4"
};
[[nodiscard]] BuildInfo build_info() noexcept;

}  // namespace rudder
