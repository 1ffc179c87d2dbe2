// A square of cells, the darker the more.
#include <algorithm>

#include <fmt/format.h>

#include "chart.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t most_written = 8;  ///< cells with their number in them
constexpr std::size_t most_titled = 24;  ///< cells that say what they are when pointed at
constexpr double label_space = 64;

/// The cells, with labels at the top and on the left, in units of its own.
class Cells {
public:
    Cells(Html& html, const HeatMap& map) : html_(html), map_(map), n_(map.names.size()) {
        size_ = n_ <= most_written ? 72 : n_ <= most_titled ? 30 : 14;
        most_ = std::max(1e-300, *std::ranges::max_element(map.cells));
    }

    void draw() {
        const double all = label_space + size_ * static_cast<double>(n_);
        html_.open("svg", {{"viewBox", fmt::format("0 0 {0} {0}", all)},
                           {"class", "heat"},
                           {"style", fmt::format("max-width:{}px", all)},
                           {"role", "img"},
                           {"aria-labelledby", map_.text.id + "-t " + map_.text.id + "-d"}});
        html_.leaf("title", map_.text.title, {{"id", map_.text.id + "-t"}});
        html_.leaf("desc",
                   fmt::format("Heat map of {} rows by {} columns; the largest cell is {}.", n_, n_,
                               value_text(most_, map_.unit)),
                   {{"id", map_.text.id + "-d"}});
        labels();
        for (std::size_t row = 0; row < n_; ++row) {
            for (std::size_t column = 0; column < n_; ++column)
                cell(row, column);
        }
        html_.close().line();
    }

private:
    [[nodiscard]] double at(std::size_t i) const {
        return label_space + size_ * static_cast<double>(i);
    }
    [[nodiscard]] static std::string number(double value) { return fmt::format("{:.1f}", value); }

    void labels() {
        const std::size_t every = n_ <= most_titled ? 1 : 8;
        for (std::size_t i = 0; i < n_; i += every) {
            html_.leaf("text", map_.names[i],
                       {{"class", "label"},
                        {"x", number(label_space - 8)},
                        {"y", number(at(i) + size_ / 2)},
                        {"text-anchor", "end"},
                        {"dominant-baseline", "central"}});
            html_.leaf("text", map_.names[i],
                       {{"class", "label"},
                        {"x", number(at(i) + size_ / 2)},
                        {"y", number(label_space - 10)},
                        {"text-anchor", "middle"}});
        }
        html_.leaf("text", map_.column_name + " \u2192",
                   {{"class", "axis"}, {"x", number(label_space)}, {"y", "26"}});
        html_.leaf("text", map_.row_name + " \u2193",
                   {{"class", "axis"},
                    {"x", number(label_space - 8)},
                    {"y", number(label_space - 10)},
                    {"text-anchor", "end"}});
    }

    void cell(std::size_t row, std::size_t column) {
        const double value = map_.cells[row * n_ + column];
        const double share = value / most_;
        html_.open("rect", {{"class", value == 0 ? "cell none" : "cell"},
                            {"x", number(at(column) + 1)},
                            {"y", number(at(row) + 1)},
                            {"width", number(size_ - 2)},
                            {"height", number(size_ - 2)},
                            {"fill-opacity", fmt::format("{:.3f}", 0.06 + 0.94 * share)}});
        if (n_ <= most_titled) {
            html_.leaf("title", fmt::format("{} {}, {} {}: {}", map_.row_name, map_.names[row],
                                            map_.column_name, map_.names[column],
                                            value_text(value, map_.unit)));
        }
        html_.close();
        if (n_ > most_written) return;
        html_.leaf("text", value == 0 ? "\u2013" : value_text(value, map_.unit),
                   {{"class", share > 0.55 ? "in strong" : "in"},
                    {"x", number(at(column) + size_ / 2)},
                    {"y", number(at(row) + size_ / 2)},
                    {"text-anchor", "middle"},
                    {"dominant-baseline", "central"}});
    }

    Html& html_;
    const HeatMap& map_;
    std::size_t n_;
    double size_ = 0;
    double most_ = 1;
};

}  // namespace

void draw(Html& html, const HeatMap& map) {
    if (map.names.empty()) return;
    const Figure figure(html, map.text);
    Cells(html, map).draw();
    NumberTable table{map.text.title, {map.row_name + " \\ " + map.column_name}, {}, {}};
    const std::size_t n = map.names.size();
    for (const std::string& name : map.names)
        table.header.push_back(name);
    for (std::size_t row = 0; row < n; ++row) {
        table.rows.push_back({map.names[row]});
        for (std::size_t column = 0; column < n; ++column)
            table.rows.back().push_back(exact_text(map.cells[row * n + column]));
    }
    numbers(html, table);
}

}  // namespace rudder::report
