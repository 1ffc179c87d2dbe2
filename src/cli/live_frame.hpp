// The lines of the live view, as wide and high as the screen allows.
#pragma once

#include <string>
#include <vector>

#include "report/standing.hpp"

#include "terminal.hpp"

namespace rudder::cli {

/// How a run stands, in lines: what matters most first, none as wide as the screen, fewer than it
/// has rows. What does not fit is left out, the least important first; ranks have a line or a cell
/// each where there is room for all of them, else the slowest ones do.
[[nodiscard]] std::vector<std::string> live_frame(const report::Standing& standing,
                                                  const ScreenLook& look);
/// The first of these alone.
[[nodiscard]] std::string progress_line(const report::Standing& standing, const ScreenLook& look);

/// "3:07"; "-": not known.
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace rudder::cli
