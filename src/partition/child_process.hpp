// Work in a forked child: what crashes or exits there does no harm here.
#pragma once

#include <string>

#include "rudder/core/function_ref.hpp"

namespace rudder::partition {

/// Runs `work` in a child process and waits for it. The child has a copy of this process's memory;
/// only shared regions carry a result back. What it prints is dropped. An interrupt ends the child
/// and is thrown; the child ends with this process, whatever ends it; a child that dies of a
/// signal, or whose work does not return 0, is an Error of kind `failed` that names `what` and
/// gives `remedy`.
void run_in_child(const std::string& what, const std::string& remedy, FunctionRef<int()> work);

}  // namespace rudder::partition
