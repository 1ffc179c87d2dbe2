// Messages for people, on standard error. The library behind it stays out of this header.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace rudder::log {

enum class Level { debug, info, warning, error, off };

/// How a message is written: as people read it on a terminal, the same behind the time and the
/// rank, or as an object of JSON per line.
enum class Format { plain, text, json };
inline constexpr std::array<std::string_view, 3> format_names{"plain", "text", "json"};

void set_level(Level level);
[[nodiscard]] bool enabled(Level level) noexcept;
void set_format(Format format) noexcept;
/// Whose messages these are; below 0: of none.
void set_rank(int rank) noexcept;

void debug(std::string_view message);
void info(std::string_view message);
void warning(std::string_view message);
void error(std::string_view message);
/// A warning that is written even where warnings are not: of something that is lost for good.
void lasting_warning(std::string_view message);
/// Why the program ends, whatever the level; the message may have several lines.
void last_error(std::string_view message);

/// A message with the time 1970 + `milliseconds`, as it is written: with its end.
[[nodiscard]] std::string line(Format format, Level level, int rank, long long milliseconds,
                               std::string_view message);

/// `before` is called before a message is written, from the thread that writes it; null: nothing.
void set_before(void (*before)());
/// Calls it, for whoever writes to the terminal without the log.
void call_before();

}  // namespace rudder::log
