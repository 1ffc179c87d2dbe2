// Amounts as people say them, for tables on a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace rudder {

/// "950", "12.3 k", "1.2 M": to see how many, not to count.
[[nodiscard]] std::string format_short(std::uint64_t count);
/// "12.3 ms", "4.5 s", "2 min 10 s", "3 h 20 min"; "-" for what is not a time.
[[nodiscard]] std::string format_seconds(double seconds);

}  // namespace rudder
