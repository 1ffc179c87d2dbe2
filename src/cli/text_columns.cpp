// How wide texts are on a terminal.
#include <algorithm>
#include <array>

#include "terminal.hpp"

namespace rudder::cli {

namespace {

struct CodeRange {
    char32_t first;
    char32_t last;
};

/// Marks that stand on the letter before them, and what is not shown.
constexpr std::array no_columns{CodeRange{0x0300, 0x036F}, CodeRange{0x200B, 0x200F},
                                CodeRange{0x20D0, 0x20FF}, CodeRange{0xFE00, 0xFE0F},
                                CodeRange{0xFEFF, 0xFEFF}};
/// Letters of East Asia, and emoji.
constexpr std::array two_columns{
    CodeRange{0x1100, 0x115F},   CodeRange{0x2E80, 0x303E},   CodeRange{0x3041, 0xA4CF},
    CodeRange{0xAC00, 0xD7A3},   CodeRange{0xF900, 0xFAFF},   CodeRange{0xFE30, 0xFE6F},
    CodeRange{0xFF00, 0xFF60},   CodeRange{0xFFE0, 0xFFE6},   CodeRange{0x1F300, 0x1F64F},
    CodeRange{0x1F680, 0x1F6FF}, CodeRange{0x1F900, 0x1FAFF}, CodeRange{0x20000, 0x3FFFD}};

template <std::size_t N>
bool among(const std::array<CodeRange, N>& ranges, char32_t code) {
    return std::ranges::any_of(
        ranges, [&](const CodeRange& r) { return code >= r.first && code <= r.last; });
}

std::size_t columns_of_code(char32_t code) {
    if (among(no_columns, code)) return 0;
    return among(two_columns, code) ? 2 : 1;
}

constexpr char32_t no_letter = 0xFFFD;

/// The letter at the front and its bytes; one byte and no_letter where it is none.
struct Letter {
    char32_t code;
    std::size_t bytes;
};
Letter first_letter(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC2 ? 2 : 1;
    if (bytes == 1 || lead > 0xF4 || text.size() < bytes) return {no_letter, 1};
    char32_t code = lead & (0x7FU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {no_letter, 1};
        code = (code << 6U) | (byte(i) & 0x3FU);
    }
    return {code, bytes};
}

/// The bytes of an escape sequence at the front (colours, movements), or 0.
std::size_t escape_bytes(std::string_view text) {
    if (!text.starts_with("\x1b[")) return 0;
    const auto end =
        std::ranges::find_if(text.substr(2), [](char c) { return c >= '@' && c <= '~'; });
    const auto length = static_cast<std::size_t>(end - text.substr(2).begin()) + 2;
    return std::min(length + 1, text.size());
}

}  // namespace

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        if (const std::size_t escape = escape_bytes(text); escape != 0) {
            text.remove_prefix(escape);
            continue;
        }
        const Letter letter = first_letter(text);
        columns += columns_of_code(letter.code);
        text.remove_prefix(letter.bytes);
    }
    return columns;
}

std::string cut_to(std::string_view text, std::size_t columns, bool utf8) {
    if (columns_of(text) <= columns) return std::string(text);
    const std::string_view mark = utf8 ? "…" : "~";
    if (columns == 0) return {};
    std::string kept;
    std::size_t used = 0;
    while (!text.empty()) {
        const Letter letter = first_letter(text);
        used += columns_of_code(letter.code);
        if (used > columns - 1) break;
        kept += text.substr(0, letter.bytes);
        text.remove_prefix(letter.bytes);
    }
    return kept.append(mark);
}

std::string shown_text(std::string_view text, bool utf8) {
    std::string shown;
    while (!text.empty()) {
        const Letter letter = first_letter(text);
        const bool control = letter.code < 0x20 || (letter.code >= 0x7F && letter.code < 0xA0) ||
                             (letter.code >= 0x202A && letter.code <= 0x202E);
        if (control) {
            shown += ' ';
        } else if (letter.code == no_letter || (letter.code >= 0x80 && !utf8)) {
            shown += '?';
        } else {
            shown += text.substr(0, letter.bytes);
        }
        text.remove_prefix(letter.bytes);
    }
    return shown;
}

}  // namespace rudder::cli
