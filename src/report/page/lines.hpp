// Paths of lines, bands and layers.
#pragma once

#include <span>

#include "chart.hpp"

namespace rudder::report {

/// Draws a line with its band; gaps where there is no value.
void draw_series(Html& html, const Figure& figure, const Series& series,
                 std::span<const double> axis, std::size_t number);
/// The area between two lines.
[[nodiscard]] std::string area_path(const Figure& figure, std::span<const double> at,
                                    const Values& low, const Values& high);
/// Columns of the table that belong to a line: its mean and, with a band, its extremes.
void add_columns(NumberTable& table, const Series& series);
/// The smallest and largest value of all lines.
struct Range {
    double min;
    double max;
    bool any;
};
[[nodiscard]] Range range_of(const std::vector<Series>& lines);

/// The rows of a table that stand on an axis: their names and places.
[[nodiscard]] NumberTable table_of(const FigureText& text, const XAxis& x);

}  // namespace rudder::report
