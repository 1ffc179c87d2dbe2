#include "log.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "json.hpp"

namespace rudder::log {

namespace {

spdlog::logger& logger() {
    static const std::shared_ptr<spdlog::logger> instance = [] {
        auto made = std::make_shared<spdlog::logger>(
            "rudder", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_formatter(std::make_unique<spdlog::pattern_formatter>(
            "%v", spdlog::pattern_time_type::local, ""));  // lines have their end
        made->set_level(spdlog::level::info);
        return made;
    }();
    return *instance;
}

spdlog::level::level_enum native(Level level) {
    switch (level) {
        case Level::debug:
            return spdlog::level::debug;
        case Level::info:
            return spdlog::level::info;
        case Level::warning:
            return spdlog::level::warn;
        case Level::error:
            return spdlog::level::err;
        case Level::off:
            break;
    }
    return spdlog::level::off;
}

std::atomic<void (*)()> before_message{nullptr};
std::atomic<Format> present_format{Format::plain};
std::atomic<int> present_rank{-1};

constexpr std::array<std::string_view, 5> level_names{"debug", "info", "warning", "error", "off"};

std::string line_now(Level level, std::string_view message) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return line(present_format, level, present_rank,
                std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), message);
}

void write(Level level, std::string_view message) {
    if (!enabled(level)) return;
    call_before();
    const std::string text = line_now(level, message);
    logger().log(native(level), spdlog::string_view_t(text.data(), text.size()));
}

/// Past the level.
void write_anyway(Level level, std::string_view message) {
    call_before();
    std::fputs(line_now(level, message).c_str(), stderr);
}

/// Such as 2026-11-15T14:12:35.120Z.
std::string time_text(long long milliseconds) {
    const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), milliseconds % 1000);
}

}  // namespace

std::string line(Format format, Level level, int rank, long long milliseconds,
                 std::string_view message) {
    const std::string_view name = level_names[static_cast<std::size_t>(level)];
    if (format == Format::json) {
        Json json{{"time", time_text(milliseconds)}, {"level", name}};
        if (rank >= 0) json["rank"] = rank;
        json["message"] = message;
        // Names need not be UTF-8.
        return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    }
    std::string text;
    if (format == Format::text) {
        text = time_text(milliseconds) + " ";
        if (rank >= 0) text += fmt::format("rank {} ", rank);
    }
    return text + fmt::format("rudder: {}: {}\n", name, message);
}

void set_before(void (*before)()) {
    before_message = before;
}

void call_before() {
    if (auto* const before = before_message.load()) before();
}

void set_level(Level level) {
    logger().set_level(native(level));
}

bool enabled(Level level) noexcept {
    return logger().should_log(native(level));
}

void set_format(Format format) noexcept {
    present_format = format;
}

void set_rank(int rank) noexcept {
    present_rank = rank;
}

void debug(std::string_view message) {
    write(Level::debug, message);
}
void info(std::string_view message) {
    write(Level::info, message);
}
void warning(std::string_view message) {
    write(Level::warning, message);
}
void error(std::string_view message) {
    write(Level::error, message);
}
void lasting_warning(std::string_view message) {
    if (enabled(Level::error)) write_anyway(Level::warning, message);
}
void last_error(std::string_view message) {
    write_anyway(Level::error, message);
}

}  // namespace rudder::log
