// One self-contained HTML page about a run, or about several side by side.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "run_data.hpp"

namespace rudder::report {

/// A page is never larger: of many or long runs it shows fewer points, and says so.
inline constexpr std::size_t most_page_bytes = 2'000'000;
/// Runs that fit on one page; repeats of one setting count as one.
inline constexpr std::size_t most_page_runs = 24;

/// How many runs a page would show, repeats of one setting being one.
[[nodiscard]] std::size_t settings_on_page(std::span<const RunData> runs);

/// The page: no network, no scripts needed for text and tables, every text of a run escaped.
/// 1 to most_page_runs settings. Of repeats, one part is drawn, of the run in the middle.
[[nodiscard]] std::string report_page(std::span<const RunData> runs);

}  // namespace rudder::report
