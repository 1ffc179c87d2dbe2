// A socket that listens, for the server of metrics.
#pragma once

#include <cstdint>
#include <string>

namespace rudder::report {

/// Listens, and says on which port.
[[nodiscard]] int listen_at(const std::string& address, std::uint16_t port, std::uint16_t& chosen);

}  // namespace rudder::report
