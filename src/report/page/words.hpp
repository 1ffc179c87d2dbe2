// Numbers as people read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rudder::report {

/// What an axis or a number counts, and how it is written.
enum class Unit { plain, count, share, seconds, bytes };

/// "12.3 ms", "4.56 s", "3 min 20 s".
[[nodiscard]] std::string seconds_text(double seconds);
/// "1,234,567"; of anything but a count, "-".
[[nodiscard]] std::string count_text(double count);
/// "97.3 %"; more digits near 0 and 100.
[[nodiscard]] std::string percent_text(double share);
/// "318.9 MiB".
[[nodiscard]] std::string bytes_text(double bytes);
/// "1.08": three digits that mean something.
[[nodiscard]] std::string ratio_text(double ratio);
/// As the unit says; "-" where there is none.
[[nodiscard]] std::string value_text(std::optional<double> value, Unit unit);
/// "40.9\u201347.1 ms": from one to the other, with the unit once where both have the same.
[[nodiscard]] std::string range_text(double least, double most, Unit unit);
/// Short, for axes: "12 k", "40 ms", "80 %"; `top` is the largest value of the axis.
[[nodiscard]] std::string tick_text(double value, Unit unit, double top);
/// All digits that a number has, for tables of numbers.
[[nodiscard]] std::string exact_text(double value);
/// A word as a shell takes it.
[[nodiscard]] std::string shell_quoted(std::string_view word);
/// At most `most` bytes of a text, cut between characters, with dots behind.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);
/// "1 step", "5 steps".
[[nodiscard]] std::string counted(double count, std::string_view one, std::string_view many);

}  // namespace rudder::report
