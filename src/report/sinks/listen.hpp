// A socket that listens, for the server of metrics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rudder::report {

/// Listens, and says on which port.
[[nodiscard]] int listen_at(const std::string& address, std::uint16_t port, std::uint16_t& chosen);
/// Whether what a client calls us (the header Host) is an address or a name of this machine: a page
/// that a browser has loaded from elsewhere cannot make its own name mean this machine.
[[nodiscard]] bool names_this_machine(std::string_view header);

}  // namespace rudder::report
