// A drawing of its own file: bars of several parts, one for each run of a sweep.
#pragma once

#include <string>
#include <vector>

#include "report/page/words.hpp"

namespace rudder::report {

struct StackedBar {
    std::string name;
    std::vector<double> parts;  ///< from the left
};

struct StackedBars {
    std::string title;
    Unit unit = Unit::seconds;
    std::vector<std::string> parts;  ///< their names
    std::vector<StackedBar> bars;    ///< from above
};

/// As SVG that needs nothing else: bars lie, with their names before them and their sums behind.
/// Light or dark as whoever shows it wishes.
[[nodiscard]] std::string stacked_bars_svg(const StackedBars& chart);

}  // namespace rudder::report
