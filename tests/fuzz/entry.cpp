// The entry of libFuzzer.
#include <cstddef>
#include <cstdint>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    rudder::fuzz::run_once({reinterpret_cast<const char*>(data), size});
    return 0;
}
