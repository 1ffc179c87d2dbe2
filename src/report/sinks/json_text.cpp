#include "json_text.hpp"

#include <algorithm>
#include <cmath>

#include "core/json.hpp"

namespace rudder::report {

void append_json(std::string& text, double value) {
    if (!std::isfinite(value)) {
        text += "null";
        return;
    }
    char digits[64];
    char* const end = nlohmann::detail::to_chars(digits, digits + sizeof(digits), value);
    text.append(digits, end);
}

void append_json(std::string& text, std::string_view value) {
    const bool plain = std::ranges::all_of(
        value, [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; });
    if (plain) {
        text += '"';
        text += value;
        text += '"';
        return;
    }
    text += Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rudder::report
