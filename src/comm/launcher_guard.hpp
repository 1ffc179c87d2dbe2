// A process beside the launcher that is there when the launcher has been killed. Its children are
// told then, by the kernel, but one may not heed it: mpirun, while it begins, locks up in its own
// handler of the signal.
#pragma once

#include <chrono>
#include <span>

#include <sys/types.h>

namespace rudder::comm {

class LauncherGuard {
public:
    /// Kills what is left of some children of this process that long after its own end.
    LauncherGuard(std::span<const pid_t> children, std::chrono::milliseconds grace);
    /// Whoever comes here sees to the children itself.
    ~LauncherGuard();
    LauncherGuard(LauncherGuard&&) = delete;

private:
    int pipe_ = -1;  ///< the guard reads from it: its end is ours
    pid_t guard_ = -1;
};

}  // namespace rudder::comm
