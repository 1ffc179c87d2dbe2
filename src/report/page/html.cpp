#include "html.hpp"

#include <array>
#include <cstdint>

#include "rudder/core/check.hpp"

namespace rudder::report {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

struct CodePoint {
    std::uint32_t value;
    std::size_t length;  ///< 0: no UTF-8
};

/// The code point a text begins with.
CodePoint decode(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t first = byte(0);
    if (first < 0x80) return {first, 1};
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text.size() < length) return {0, 0};
    std::uint32_t value = first & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {0, 0};
        value = value << 6U | (byte(i) & 0x3FU);
    }
    constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < least[length] || value > 0x10FFFF || surrogate) return {0, 0};
    return {value, length};
}

bool shown(std::uint32_t c) {
    if (c < 0x20) return c == '\n' || c == '\t';
    if (c >= 0x7F && c < 0xA0) return false;
    const bool turns = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
    return !turns && c != 0xFFFE && c != 0xFFFF && c != 0xFEFF;
}

void append_escaped(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const CodePoint point = decode(text);
        const std::size_t length = point.length == 0 ? 1 : point.length;
        if (point.length == 0 || !shown(point.value)) {
            out += replacement;
        } else {
            switch (point.value) {
                case '&':
                    out += "&amp;";
                    break;
                case '<':
                    out += "&lt;";
                    break;
                case '>':
                    out += "&gt;";
                    break;
                case '"':
                    out += "&quot;";
                    break;
                case '\'':
                    out += "&#39;";
                    break;
                case '`':
                    out += "&#96;";
                    break;
                default:
                    out += text.substr(0, length);
            }
        }
        text.remove_prefix(length);
    }
}

}  // namespace

std::string escape(std::string_view text) {
    std::string out;
    append_escaped(out, text);
    return out;
}

void Html::tag(Literal name, Attributes attributes) {
    out_ += '<';
    out_ += name.view();
    for (const Attribute& attribute : attributes) {
        out_ += ' ';
        out_ += attribute.name.view();
        out_ += "=\"";
        append_escaped(out_, attribute.value);
        out_ += '"';
    }
}

Html& Html::open(Literal name, Attributes attributes) {
    tag(name, attributes);
    out_ += '>';
    open_.push_back(name.view());
    return *this;
}

Html& Html::close() {
    RUDDER_CHECK(!open_.empty());
    out_ += "</";
    out_ += open_.back();
    out_ += '>';
    open_.pop_back();
    return *this;
}

Html& Html::text(std::string_view text) {
    append_escaped(out_, text);
    return *this;
}

Html& Html::leaf(Literal name, std::string_view content, Attributes attributes) {
    return open(name, attributes).text(content).close();
}

Html& Html::empty(Literal name, Attributes attributes) {
    tag(name, attributes);
    out_ += "/>";
    return *this;
}

Html& Html::markup(Literal text) {
    out_ += text.view();
    return *this;
}

Html& Html::asset(std::string_view trusted) {
    out_ += trusted;
    return *this;
}

Html& Html::line() {
    out_ += '\n';
    return *this;
}

std::string Html::take() {
    RUDDER_CHECK(open_.empty());
    return std::move(out_);
}

}  // namespace rudder::report
