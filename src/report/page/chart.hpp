// Charts as SVG, with their labels as text of the page, so that these stay readable at any width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "html.hpp"
#include "words.hpp"

namespace rudder::report {

using Values = std::vector<std::optional<double>>;

/// How high a drawing is.
enum class FigureHeight : std::uint8_t { usual, low, high };

/// What a figure is called, and what it shows, in a sentence or two.
struct FigureText {
    std::string id;  ///< unique on the page
    std::string title;
    std::string note;
    bool wide = false;  ///< takes the whole width on large screens
    FigureHeight height = FigureHeight::usual;
};

/// A moment at which something changed: a line through the drawing, with its number above it.
struct Flag {
    double at = 0;
    std::size_t number = 0;  ///< 0: it has none
};

/// The horizontal axis: where the points stand.
struct XAxis {
    std::string name;  ///< "step", "epoch"
    std::vector<double> at;
    std::vector<std::string> names;  ///< of the points, in the table; as many
    double min = 0;
    double max = 1;
    std::vector<double> marks{};  ///< faint lines, such as ends of epochs
    std::vector<Flag> flags{};
    std::vector<double> rug{};  ///< short strokes at the bottom
};

/// One line, or one layer of a stack.
struct Series {
    std::string name;
    int colour = 0;  ///< of the palette
    Values mean;
    Values low{};  ///< both or none: drawn as a band
    Values high{};
    int dash = 0;                                ///< 0 solid, 1 dashed, 2 dotted, 3 dash-dot
    std::optional<std::vector<double>> own_x{};  ///< where its points are not those of the axis
};

struct LineChart {
    FigureText text;
    XAxis x;
    Unit unit = Unit::plain;
    std::vector<Series> lines;
    bool from_zero = true;
    /// Where the axis must not end earlier or later. Shares up to 1 never go beyond it anyway.
    std::optional<double> top{};
};

struct AreaChart {
    FigureText text;
    XAxis x;
    Unit unit = Unit::plain;
    std::vector<Series> layers;  ///< from below
    std::vector<Series> lines{};
};

void draw(Html& html, const LineChart& chart);
void draw(Html& html, const AreaChart& chart);

/// A square of numbers, such as bytes by receiver and owner.
struct HeatMap {
    FigureText text;
    Unit unit = Unit::bytes;
    std::string row_name;  ///< "to"
    std::string column_name;
    std::vector<std::string> names;  ///< of rows and columns
    std::vector<double> cells;       ///< row x column
};
void draw(Html& html, const HeatMap& map);

/// Values of rows over time, the stronger the colour the larger.
struct TimeMap {
    FigureText text;
    XAxis x;                    ///< `at` and `names` are those of the columns
    std::vector<double> edges;  ///< of the columns: one more than these
    Unit unit = Unit::seconds;
    std::vector<std::string> rows;  ///< their names, from above
    Values cells;                   ///< row x column
    std::string row_name;           ///< "rank"
};
void draw(Html& html, const TimeMap& map);

/// One bar, and how far what it stands for is spread.
struct Bar {
    std::string name;
    int colour = 0;
    double value = 0;
    double least = 0;  ///< both are `value` where there is one measurement alone
    double most = 0;
    std::size_t count = 1;  ///< measurements
};
struct BarChart {
    FigureText text;
    Unit unit = Unit::plain;
    std::vector<Bar> bars;
};
void draw(Html& html, const BarChart& chart);

/// The numbers of a figure, one click away. The first cell of a row is its name; `at` is where its
/// point stands on the axis, from 0 to 1, if it stands there.
struct NumberTable {
    std::string caption;
    std::vector<std::string> header;
    std::vector<std::vector<std::string>> rows;
    std::vector<double> at{};
};
void numbers(Html& html, const NumberTable& table);

/// Points with a height and a mark each.
struct Dot {
    double x = 0;
    double y = 0;
    int mark = 0;  ///< which of the marks
};
struct DotChart {
    FigureText text;
    XAxis x;  ///< `at` is not used
    Unit unit = Unit::share;
    double bottom = -1;
    double top = 1;
    std::vector<std::string> marks;  ///< 0 a disc, 1 a square, 2 a ring
    std::vector<int> colours;
    std::vector<Dot> dots;
    NumberTable table{};
};
void draw(Html& html, const DotChart& chart);

// ---- shared by the kinds of charts --------------------------------------------------------------

/// A vertical axis with round numbers.
struct YAxis {
    double min = 0;
    double max = 1;
    std::vector<double> ticks;
    std::vector<std::string> names{};  ///< of the ticks, where they are no numbers
};
[[nodiscard]] YAxis nice_axis(double min, double max, int most_ticks);

/// Height of the drawing in its own units; it is 1000 wide and stretched to its place.
inline constexpr double plot_height = 300;

/// Opens the figure: caption, axes, drawing. What is drawn next is between the grid and the end.
class Figure {
public:
    Figure(Html& html, const FigureText& text);
    ~Figure();
    Figure(Figure&&) = delete;

    /// Calls `body` inside the drawing.
    template <class Body>
    void plot(const XAxis& x, const YAxis& y, Unit unit, const std::string& description,
              const Body& body) {
        open_plot(x, y, unit, description);
        body();
        close_plot(x);
    }
    struct Key {
        std::string name;
        int colour;
        char mark;  ///< l line, a area, 0 1 2 marks of dots
        int dash;
    };
    void legend(const std::vector<Key>& keys);

    [[nodiscard]] double px(double value) const;
    [[nodiscard]] double py(double value) const;

private:
    void open_plot(const XAxis& x, const YAxis& y, Unit unit, const std::string& description);
    void close_plot(const XAxis& x);
    void draw_flags(const XAxis& x);
    void number_flags(const XAxis& x);
    Html& html_;
    const FigureText& text_;
    double x_min_ = 0;
    double x_max_ = 1;
    YAxis y_;
};

/// The class of a label below an axis, the so-manieth at a share of its length: every second one is
/// left out on a phone, one at the end stands before it.
[[nodiscard]] std::string tick_class(std::size_t number, double share);

/// A colour of the palette as a class: "c3".
[[nodiscard]] std::string colour_class(int colour);

}  // namespace rudder::report
