// SIGINT and SIGTERM as a flag that long work looks at.
#pragma once

namespace rudder {

/// Makes the first SIGINT or SIGTERM set the flag; a second one ends the process with code 5.
void install_interrupt_handler();
/// Whether an interrupt has arrived.
[[nodiscard]] bool interrupted() noexcept;
/// Throws an Error of kind `interrupted` if one has.
void throw_if_interrupted();
/// Sets or clears the flag, as the signal would (for tests).
void set_interrupted(bool value) noexcept;

}  // namespace rudder
