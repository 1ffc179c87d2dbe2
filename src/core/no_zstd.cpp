// Stands in for byte planes in a build without Zstandard, which refuses --coding auto.
#include "rudder/core/check.hpp"

#include "byte_planes.hpp"

namespace rudder {

std::uint32_t encode_planes(std::span<const std::byte> /*plain*/, std::size_t /*width*/,
                            std::uint32_t /*tried*/, RawVector<std::byte>& /*coded*/) {
    RUDDER_CHECK(false);
    return 0;
}

std::optional<std::size_t> planes_size(std::span<const std::byte> /*coded*/) noexcept {
    return std::nullopt;
}

bool decode_planes(std::span<const std::byte> /*coded*/, std::span<std::byte> /*plain*/) {
    return false;
}

}  // namespace rudder
