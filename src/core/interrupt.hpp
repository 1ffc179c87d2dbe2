// SIGINT and SIGTERM as a flag that long work looks at.
#pragma once

namespace rudder {

/// Makes the first SIGINT or SIGTERM set the flag; a second one ends the process with code 5.
void install_interrupt_handler();
/// Whether an interrupt has arrived.
[[nodiscard]] bool interrupted() noexcept;
/// Throws an Error of kind `interrupted` if one has, unless interrupts are deferred.
void throw_if_interrupted();
/// The same, deferred or not.
void throw_if_interrupted_at_once();

/// While one lives, work goes on after an interrupt: whoever made it looks at `interrupted` and
/// stops where all ranks can.
class DeferInterrupts {
public:
    DeferInterrupts() noexcept;
    ~DeferInterrupts();
    DeferInterrupts(DeferInterrupts&&) = delete;
};

/// Sets or clears the flag, as the signal would (for tests).
void set_interrupted(bool value) noexcept;

}  // namespace rudder
