// Points marked by shape and colour.
#include <fmt/format.h>

#include "chart.hpp"

namespace rudder::report {

void draw(Html& html, const DotChart& chart) {
    Figure figure(html, chart.text);
    YAxis axis = nice_axis(chart.bottom, chart.top, 5);
    std::vector<Figure::Key> keys;
    const std::string description = fmt::format(
        "{} points by {}.", count_text(static_cast<double>(chart.dots.size())), chart.x.name);
    figure.plot(chart.x, axis, chart.unit, description, [&] {
        html.empty("path", {{"class", "zero"}, {"d", fmt::format("M0 {:.1f}H1000", figure.py(0))}});
        // The last kind lies below the others.
        for (std::size_t mark = chart.marks.size(); mark-- > 0;) {
            std::string path;
            for (const Dot& dot : chart.dots) {
                if (dot.mark == static_cast<int>(mark))
                    path += fmt::format("M{:.1f} {:.1f}h0", figure.px(dot.x), figure.py(dot.y));
            }
            const Element group(
                html, "g",
                {{"class", colour_class(chart.colours[mark])}, {"data-k", std::to_string(mark)}});
            html.empty("path", {{"class", fmt::format("point m{}", mark)}, {"d", path}});
            if (mark == 2) html.empty("path", {{"class", "point hole"}, {"d", path}});
        }
    });
    for (std::size_t mark = 0; mark < chart.marks.size(); ++mark)
        keys.push_back({chart.marks[mark], chart.colours[mark], static_cast<char>('0' + mark), 0});
    figure.legend(keys);
    if (!chart.table.rows.empty()) numbers(html, chart.table);
}

}  // namespace rudder::report
