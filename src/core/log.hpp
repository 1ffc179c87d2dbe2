// Messages for people, on standard error. The library behind it stays out of this header.
#pragma once

#include <string_view>

namespace rudder::log {

enum class Level { debug, info, warning, error, off };

void set_level(Level level);
[[nodiscard]] bool enabled(Level level) noexcept;

void debug(std::string_view message);
void info(std::string_view message);
void warning(std::string_view message);
void error(std::string_view message);
/// A warning that is written even where warnings are not: of something that is lost for good.
void lasting_warning(std::string_view message);

/// `before` is called before a message is written, from the thread that writes it; null: nothing.
void set_before(void (*before)());
/// Calls it, for whoever writes to the terminal without the log.
void call_before();

}  // namespace rudder::log
