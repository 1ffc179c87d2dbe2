// Checks of our own promises, at three levels chosen when the build is configured (RUDDER_CHECKS).
#pragma once

#include "rudder/core/error.hpp"

#ifndef RUDDER_CHECK_LEVEL
#define RUDDER_CHECK_LEVEL 1
#endif

/// Always on: cheap, and the program cannot go on without it.
#define RUDDER_CHECK(condition) \
    (static_cast<bool>(condition) ? void(0) : ::rudder::fail_check(#condition, __FILE__, __LINE__))

/// On at levels normal and heavy: constant cost per call, never inside a loop over edges.
#if RUDDER_CHECK_LEVEL >= 1
#define RUDDER_CHECK_NORMAL(condition) RUDDER_CHECK(condition)
#else
#define RUDDER_CHECK_NORMAL(condition) void(0)
#endif

/// On at level heavy only: may cost as much as the work it guards.
#if RUDDER_CHECK_LEVEL >= 2
#define RUDDER_CHECK_HEAVY(condition) RUDDER_CHECK(condition)
#else
#define RUDDER_CHECK_HEAVY(condition) void(0)
#endif
