// SIGINT, SIGTERM and SIGHUP as a flag that long work looks at, and children that end with us.
#pragma once

#include <sys/types.h>

namespace rudder {

/// Makes the first SIGINT, SIGTERM or SIGHUP (unless it is ignored, as by nohup) set the flag; a
/// second one ends the process with code 5. What comes within a fifth of a second is the same one:
/// some (timeout) send it to a process and then to its group.
void install_interrupt_handler();
/// Whether an interrupt has arrived.
[[nodiscard]] bool interrupted() noexcept;
/// Throws an Error of kind `interrupted` if one has, unless interrupts are deferred.
void throw_if_interrupted();
/// The same, deferred or not.
void throw_if_interrupted_at_once();
/// Whether some work defers them.
[[nodiscard]] bool interrupts_deferred() noexcept;

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

/// In a process just forked by `parent`: has the signal sent to it when the thread that forked it
/// ends; ends at once if that is gone already. Holds for the program it becomes, too.
void end_with_parent(pid_t parent, int signal) noexcept;

}  // namespace rudder
