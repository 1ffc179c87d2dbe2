#include "built_in_model.hpp"

// RUDDER_BUILT_IN_MODEL is the file's path, from CMakeLists.txt; the assembler puts its bytes here.
// clang-format off
asm(".pushsection .rodata\n"
    ".balign 64\n"
    ".global rudder_built_in_model_begin\n"
    ".hidden rudder_built_in_model_begin\n"
    "rudder_built_in_model_begin:\n"
    ".incbin \"" RUDDER_BUILT_IN_MODEL "\"\n"
    ".global rudder_built_in_model_end\n"
    ".hidden rudder_built_in_model_end\n"
    "rudder_built_in_model_end:\n"
    ".byte 0\n"
    ".popsection\n");
// clang-format on

extern "C" {
extern const std::byte rudder_built_in_model_begin[];
extern const std::byte rudder_built_in_model_end[];
}

namespace rudder::steer {

std::span<const std::byte> built_in_model_bytes() noexcept {
    return {rudder_built_in_model_begin, rudder_built_in_model_end};
}

SteeringModel built_in_model() {
    return read_steering_model(built_in_model_bytes(), built_in_model_name);
}

}  // namespace rudder::steer
