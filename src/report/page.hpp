// One self-contained HTML page about a run, or about several side by side.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "run_data.hpp"

namespace rudder::report {

/// A page is never larger: of many or long runs it shows fewer points, and says so.
inline constexpr std::size_t most_page_bytes = 2'000'000;
/// Runs that fit on one page.
inline constexpr std::size_t most_page_runs = 24;

/// The page: no network, no scripts needed for text and tables, every text of a run escaped.
/// 1 to most_page_runs runs.
[[nodiscard]] std::string report_page(std::span<const RunData> runs);

}  // namespace rudder::report
