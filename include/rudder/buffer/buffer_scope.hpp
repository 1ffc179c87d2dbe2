// Who shares a buffer.
#pragma once

#include <cstdint>
#include <string_view>

namespace rudder::buffer {

/// Who shares a buffer: the ranks of a host, or nobody.
enum class BufferScope : std::uint8_t { host, rank };
[[nodiscard]] std::string_view to_string(BufferScope scope) noexcept;

}  // namespace rudder::buffer
