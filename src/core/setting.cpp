#include "core/setting.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder {

namespace {

/// "give a number from 1 to 64"
std::string limits_text(const SettingInfo& info) {
    constexpr double large = 1e9;
    constexpr double largest = 1e16;
    const SettingLimits& limits = info.limits;
    std::string text = info.kind == SettingKind::real ? "give a number" : "give a whole number";
    if (limits.least > -large) {
        text += fmt::format(" {} {}", limits.above ? "above" : "from", limits.least);
    }
    if (limits.most < largest && !limits.by_type) {
        text += fmt::format(" {} {}", limits.below ? "to below" : "to", limits.most);
    } else if (limits.least > -large && !limits.above) {
        text += " on";
    }
    return text;
}

std::string remedy(const SettingInfo& info) {
    if (info.kind == SettingKind::bytes) return "give a number of bytes, such as 8GiB or 500MB";
    if (info.kind == SettingKind::list) return "give whole numbers, such as 10,25";
    return limits_text(info) + (info.none.empty() ? "" : fmt::format(", or {}", info.none));
}

Error invalid(const SettingInfo& info, std::string_view text) {
    return usage_error(fmt::format("invalid {}: '{}'", info.name, text), std::string(info.name),
                       remedy(info));
}

std::optional<Json> parse_integer(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code == std::errc() && end == text.data() + text.size() && !text.empty() && number < 0)
        return Json(number);
    if (const auto positive = parse_u64(text)) return Json(*positive);
    return std::nullopt;
}

std::optional<Json> parse_list(std::string_view text) {
    Json list = Json::array();
    for (const std::string_view word : split(text, ',')) {
        const auto number = parse_integer(trimmed(word));
        if (!number) return std::nullopt;
        list.push_back(*number);
    }
    return list;
}

std::optional<Json> parse_value(SettingKind kind, std::string_view text) {
    switch (kind) {
        case SettingKind::integer:
            return parse_integer(text);
        case SettingKind::list:
            return parse_list(text);
        case SettingKind::flag:
            if (text == "true" || text == "false") return Json(text == "true");
            return std::nullopt;
        case SettingKind::real:
            if (const auto number = parse_double(text)) return Json(*number);
            return std::nullopt;
        case SettingKind::bytes:
            if (const auto bytes = parse_bytes(text)) return Json(*bytes);
            return std::nullopt;
        case SettingKind::text:
            break;
    }
    return Json(text);
}

}  // namespace

std::string setting_text(const Json& value) {
    if (value.is_null()) return {};
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return fmt::format("{}", value.get<double>());
    if (!value.is_array()) return value.dump();
    std::string text;
    for (const Json& item : value)
        text += (text.empty() ? "" : ",") + setting_text(item);
    return text;
}

std::string setting_text(const SettingInfo& info, const Json& value) {
    return value.is_null() ? std::string(info.none) : setting_text(value);
}

std::size_t word_index(const SettingInfo& info, std::string_view word) {
    const auto known = info.words();
    const auto found = std::ranges::find(known, word);
    if (found == known.end()) {
        throw usage_error(fmt::format("unknown {} '{}'", info.name, word), std::string(info.name),
                          fmt::format("known are {}", join(known, ", ")));
    }
    return static_cast<std::size_t>(found - known.begin());
}

namespace {

bool has_type(SettingKind kind, const Json& value) {
    switch (kind) {
        case SettingKind::flag:
            return value.is_boolean();
        case SettingKind::integer:
            return value.is_number_integer();
        case SettingKind::real:
            return value.is_number();
        case SettingKind::bytes:
            return value.is_number_unsigned();
        case SettingKind::list:
            return value.is_array() || value.is_number();
        case SettingKind::text:
            break;
    }
    return value.is_string();
}

}  // namespace

void check_setting(const SettingInfo& info, const Json& value) {
    if (value.is_null()) return;
    if (!has_type(info.kind, value)) throw invalid(info, setting_text(value));
    if (info.words != nullptr) static_cast<void>(word_index(info, setting_text(value)));
    if (value.is_array()) {
        for (const Json& item : value)
            check_setting(info, item);
    }
    if (!value.is_number()) return;
    const SettingLimits& limits = info.limits;
    const auto number = value.get<double>();
    const bool low = limits.above ? number > limits.least : number >= limits.least;
    const bool high = limits.below ? number < limits.most : number <= limits.most;
    if (!low || !high || !std::isfinite(number)) throw invalid(info, setting_text(value));
}

Json parse_setting(const SettingInfo& info, std::string_view text) {
    if (!info.none.empty() && text == info.none) return nullptr;
    const auto value = parse_value(info.kind, text);
    if (!value) throw invalid(info, text);
    check_setting(info, *value);
    return *value;
}

}  // namespace rudder
