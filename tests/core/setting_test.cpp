// Settings as data: values from text and back, limits, words, types.
#include "core/setting.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

enum class Mode : std::uint8_t { slow, fast, hidden };

struct Owner {
    bool on = false;
    bool checked = true;
    int count = 2;
    std::uint16_t port = 1;
    std::optional<std::uint64_t> window{};
    std::optional<std::uint32_t> every{};
    double rate = 0.25;
    std::string name = "x";
    std::filesystem::path file = "a/b";
    Mode mode = Mode::fast;
    std::vector<std::int32_t> list{1, 2};
    std::uint64_t memory = 0;
    struct Inner {
        double deep = 1.5;
    } inner;
};

std::vector<Setting<Owner>> table() {
    using O = Owner;
    return {setting<O, &O::on>("on", ""),
            off_setting<O, &O::checked>("trust", ""),
            setting<O, &O::count>("count", "").limit(1, 64),
            setting<O, &O::port>("port", ""),
            setting<O, &O::window>("window", "").at_least(1),
            setting<O, &O::every>("every", "").or_else("auto"),
            setting<O, &O::rate>("rate", "").at_least(0).below(1),
            setting<O, &O::name>("name", ""),
            setting<O, &O::file>("file", ""),
            setting<O, &O::mode>("mode", "").among({"slow", "fast"}),
            setting<O, &O::list>("list", "").limit(-1, 9),
            setting<O, &O::memory>("memory", "").in_bytes(),
            setting<O, &O::inner, &O::Inner::deep>("deep", "").above(0)};
}

const Setting<Owner>& named(std::string_view name) {
    static const auto all = table();
    return *std::ranges::find(all, name, &SettingInfo::name);
}

void put(Owner& owner, std::string_view name, std::string_view text) {
    named(name).put(owner, parse_setting(named(name), text));
}

void refuse(std::string_view name, std::string_view text) {
    try {
        static_cast<void>(parse_setting(named(name), text));
        ADD_FAILURE() << name << " took " << text;
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_EQ(error.where(), name);
        EXPECT_THAT(error.problem(), testing::HasSubstr("'" + std::string(text) + "'"));
        EXPECT_FALSE(error.remedy().empty());
    }
}

TEST(Setting, AWordForNoValue) {
    Owner owner;
    const auto& every = named("every");
    EXPECT_EQ(setting_text(every, every.value(owner)), "auto");
    put(owner, "every", "7");
    EXPECT_EQ(owner.every, 7U);
    EXPECT_EQ(setting_text(every, every.value(owner)), "7");
    put(owner, "every", "auto");
    EXPECT_EQ(owner.every, std::nullopt);
    EXPECT_TRUE(every.value(owner).is_null());
    for (const char* text : {"", "aut", "autos", "Auto", "1.5", "-1", "none"})
        refuse("every", text);
    try {
        static_cast<void>(parse_setting(every, "often"));
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.remedy(), "give a whole number from 0 on, or auto");
    }
    // Who has no such word takes none.
    refuse("window", "auto");
}

TEST(Setting, ReadsAndWritesEveryType) {
    Owner o;
    for (const auto& [name, text] :
         std::initializer_list<std::pair<const char*, const char*>>{{"on", "true"},
                                                                    {"trust", "true"},
                                                                    {"count", "64"},
                                                                    {"port", "65535"},
                                                                    {"window", "7"},
                                                                    {"rate", "0.5"},
                                                                    {"name", "a 'b' ü"},
                                                                    {"file", "c/d"},
                                                                    {"mode", "slow"},
                                                                    {"list", "-1,9"},
                                                                    {"memory", "1048576"},
                                                                    {"deep", "0.001"}}) {
        put(o, name, text);
        EXPECT_EQ(setting_text(named(name).value(o)), text) << name;
    }
    EXPECT_TRUE(o.on);
    EXPECT_FALSE(o.checked);
    EXPECT_EQ(o.mode, Mode::slow);
    EXPECT_EQ(o.inner.deep, 0.001);
    EXPECT_EQ(o.list, (std::vector<std::int32_t>{-1, 9}));
    put(o, "memory", "2KiB");
    EXPECT_EQ(o.memory, 2048U);
}

TEST(Setting, WhatIsNotSetIsNull) {
    Owner o;
    EXPECT_TRUE(named("window").value(o).is_null());
    EXPECT_EQ(setting_text(named("window").value(o)), "");
    put(o, "window", "3");
    named("window").put(o, Json(nullptr));
    EXPECT_FALSE(o.window.has_value());
    o.mode = Mode::hidden;  // a value that people cannot choose
    EXPECT_TRUE(named("mode").value(o).is_null());
}

TEST(Setting, RefusesWhatIsOutsideItsLimits) {
    for (const char* text : {"0", "65", "-1", "1.5", "many", "", "99999999999999999999"})
        refuse("count", text);
    refuse("port", "65536");
    refuse("window", "0");
    for (const char* text : {"1", "-0.1", "nan", "inf", "half"})
        refuse("rate", text);
    refuse("deep", "0");
    refuse("mode", "medium");
    for (const char* text : {"10", "-2", "a", "", "1,,2"}) {
        EXPECT_THROW(static_cast<void>(parse_setting(named("list"), text)), Error) << text;
    }
    refuse("memory", "12parsec");
    refuse("on", "yes");
}

TEST(Setting, WholeNumbersMayHaveWordsOfTheirOwn) {
    const auto bits = setting<Owner, &Owner::count>("bits", "").among([] {
        return std::vector<std::string_view>{"32", "64"};
    });
    Owner o;
    bits.put(o, parse_setting(bits, "64"));
    EXPECT_EQ(o.count, 64);
    for (const char* text : {"33", "-32", "x", "6.4", "0"})
        EXPECT_THROW(static_cast<void>(parse_setting(bits, text)), Error) << text;
    EXPECT_THROW(bits.put(o, Json(16)), Error);
    EXPECT_EQ(bits.value(o), Json(64));
}

// Limits against the sentence they are written as.
TEST(Setting, HoldsRandomLimitsAtTheirEdges) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 3}), 0);
    for (int i = 0; i < 500; ++i) {
        SettingInfo info;
        info.name = "x";
        info.kind = draws.below(2) == 0 ? SettingKind::integer : SettingKind::real;
        const auto least = static_cast<std::int64_t>(draws.below(100)) - 50;
        const auto most = least + static_cast<std::int64_t>(draws.below(50));
        info.limits = {static_cast<double>(least), static_cast<double>(most), draws.below(2) == 0,
                       draws.below(2) == 0};
        for (std::int64_t value = least - 2; value <= most + 2; ++value) {
            const bool taken = (info.limits.above ? value > least : value >= least) &&
                               (info.limits.below ? value < most : value <= most);
            const std::string text = std::to_string(value);
            if (taken) {
                EXPECT_EQ(parse_setting(info, text), Json(value)) << text;
                continue;
            }
            try {
                static_cast<void>(parse_setting(info, text));
                ADD_FAILURE() << text;
            } catch (const Error& error) {
                EXPECT_EQ(error.problem(), "invalid x: '" + text + "'");
                EXPECT_THAT(error.remedy(),
                            testing::HasSubstr((info.limits.above ? "above " : "from ") +
                                               std::to_string(least)));
            }
        }
    }
}

TEST(Setting, RefusesOtherTypes) {
    Owner o;
    for (const auto& setting : table()) {
        for (const Json& value : {Json(true), Json(1.5), Json("text"), Json({{"a", 1}}), Json(3U),
                                  Json(Json::array({1, 2}))}) {
            const Json now = setting.value(o);
            if (now.type() == value.type() || (now.is_null() && value.is_number_unsigned()))
                continue;
            if (now.is_number() && value.is_number_unsigned()) continue;
            if (setting.kind == SettingKind::list && value.is_number()) continue;
            EXPECT_THROW(setting.put(o, value), Error) << setting.name << value;
        }
    }
    EXPECT_THROW(check_setting(named("rate"), Json(std::nan(""))), Error);
}

}  // namespace
}  // namespace rudder::test
