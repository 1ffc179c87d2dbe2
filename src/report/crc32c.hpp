// CRC-32C (Castagnoli), which TensorFlow's records are sealed with.
#pragma once

#include <cstdint>
#include <string_view>

namespace rudder::report {

[[nodiscard]] std::uint32_t crc32c(std::string_view bytes) noexcept;
/// As it stands in a record: a sum of bytes that hold sums would say little otherwise.
[[nodiscard]] std::uint32_t masked_crc32c(std::string_view bytes) noexcept;

}  // namespace rudder::report
