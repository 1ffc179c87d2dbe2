#include "log.hpp"

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace rudder::log {

namespace {

spdlog::logger& logger() {
    static const std::shared_ptr<spdlog::logger> instance = [] {
        auto made = std::make_shared<spdlog::logger>(
            "rudder", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_pattern("rudder: %l: %v");
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

void write(Level level, std::string_view message) {
    if (!enabled(level)) return;
    call_before();
    logger().log(native(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace

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
    if (!enabled(Level::error)) return;
    call_before();
    const std::string line = "rudder: warning: " + std::string(message) + "\n";
    std::fputs(line.c_str(), stderr);
}

}  // namespace rudder::log
