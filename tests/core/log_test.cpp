// How messages are written: for people, with the time, and for programs.
#include "core/log.hpp"

#include <gtest/gtest.h>

#include "core/json.hpp"

namespace rudder {
namespace {

constexpr long long moment = 1'763'432'555'042;

TEST(LogLine, PlainIsForPeople) {
    EXPECT_EQ(log::line(log::Format::plain, log::Level::warning, 3, moment, "no room"),
              "rudder: warning: no room\n");
}

TEST(LogLine, TextHasTimeAndRankInFront) {
    EXPECT_EQ(log::line(log::Format::text, log::Level::error, 3, moment, "no room"),
              "2025-11-18T02:22:35.042Z rank 3 rudder: error: no room\n");
    EXPECT_EQ(log::line(log::Format::text, log::Level::info, -1, moment, "begun"),
              "2025-11-18T02:22:35.042Z rudder: info: begun\n");
}

TEST(LogLine, JsonIsOneObjectPerLine) {
    const std::string line =
        log::line(log::Format::json, log::Level::error, 0, moment, "a \"b\"\n  to do: c \xff");
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const Json json = parse_json(line, "line");
    EXPECT_EQ(json.at("time"), "2025-11-18T02:22:35.042Z");
    EXPECT_EQ(json.at("level"), "error");
    EXPECT_EQ(json.at("rank"), 0);
    EXPECT_EQ(json.at("message").get<std::string>().substr(0, 16), "a \"b\"\n  to do: c");
    EXPECT_FALSE(parse_json(log::line(log::Format::json, log::Level::info, -1, moment, ""), "line")
                     .contains("rank"));
}

}  // namespace
}  // namespace rudder
