#include "csv_cells.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

namespace rudder::graph {

namespace {

constexpr const char* close_quotes = "close the quote, or double a quote that is part of the text";

/// Where an unquoted cell ends: a separator, a line end, or a quote, which has no place there.
const char* end_of_plain(const char* at, const char* end, char separator) noexcept {
    constexpr std::uint64_t low = 0x0101010101010101U;
    constexpr std::uint64_t high = 0x8080808080808080U;
    const auto has = [](std::uint64_t word, char c) {
        const std::uint64_t x = word ^ (low * static_cast<unsigned char>(c));
        return (x - low) & ~x & high;
    };
    while (end - at >= 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, at, sizeof(word));
        // Bytes above the lowest that is found may be wrong, that one never is.
        const std::uint64_t found = has(word, separator) | has(word, '\n') | has(word, '"');
        if (found != 0) return at + std::countr_zero(found) / 8;
        at += 8;
    }
    while (at != end && *at != separator && *at != '\n' && *at != '"')
        ++at;
    return at;
}

/// Where the text of a cell ends, and where to go on.
struct CellEnd {
    const char* stop;
    const char* next;
    bool last;     ///< the row ends here
    bool escaped;  ///< quotes inside are doubled
};

/// `at` is behind the opening quote.
CellEnd end_of_quoted(const char* text, const char* at, const char* end, char separator) {
    const char* const open = at - 1;
    bool escaped = false;
    while (true) {
        at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
        if (at == nullptr) {
            throw RowFault{static_cast<std::size_t>(open - text),
                           "the quote of this cell is never closed", close_quotes};
        }
        if (at + 1 == end || at[1] != '"') break;
        escaped = true;
        at += 2;
    }
    const char* const stop = at++;
    if (at != end && *at == '\r' && (at + 1 == end || at[1] == '\n')) ++at;
    if (at == end) return {stop, at, true, escaped};
    if (*at == '\n') return {stop, at + 1, true, escaped};
    if (*at == separator) return {stop, at + 1, false, escaped};
    throw RowFault{static_cast<std::size_t>(at - text), "text follows the closing quote of a cell",
                   close_quotes};
}

CellEnd end_of_unquoted(const char* text, const char* at, const char* end, char separator) {
    const char* const begin = at;
    at = end_of_plain(at, end, separator);
    if (at != end && *at == '"') {
        throw RowFault{static_cast<std::size_t>(at - text),
                       "a quote inside a cell that does not begin with one",
                       "put the whole cell in quotes, and double the quotes inside it"};
    }
    if (at != end && *at == separator) return {at, at + 1, false, false};
    const char* const stop = at != begin && at[-1] == '\r' ? at - 1 : at;
    return {stop, at == end ? end : at + 1, true, false};
}

/// Goes through the cells of a row; `cell(number, text, quoted, escaped)`. Where the next begins.
template <class F>
const char* walk_row(const char* text, const char* at, const char* end, char separator, F&& cell) {
    for (std::size_t column = 0;; ++column) {
        const bool quoted = at != end && *at == '"';
        const char* const begin = quoted ? at + 1 : at;
        const CellEnd found = quoted ? end_of_quoted(text, begin, end, separator)
                                     : end_of_unquoted(text, begin, end, separator);
        cell(column, std::string_view(begin, found.stop), quoted, found.escaped);
        at = found.next;
        if (found.last) return at;
    }
}

/// Past lines that hold nothing.
const char* skip_blank(const char* at, const char* end) noexcept {
    while (at != end) {
        if (*at == '\n') {
            ++at;
        } else if (*at == '\r' && (at + 1 == end || at[1] == '\n')) {
            at += at + 1 == end ? 1 : 2;
        } else {
            break;
        }
    }
    return at;
}

std::size_t count_lines(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

void undouble(std::string_view text, std::vector<char>& out) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        out.push_back(text[i]);
        if (text[i] == '"') ++i;
    }
}

/// Bytes of a sequence by its first; 0: none begins so.
std::size_t sequence_length(unsigned char lead) noexcept {
    if (lead < 0x80) return 1;
    if (lead < 0xc2) return 0;
    if (lead < 0xe0) return 2;
    if (lead < 0xf0) return 3;
    return lead < 0xf5 ? 4 : 0;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = sequence_length(lead);
        if (length == 0 || length > text.size() - i) return false;
        for (std::size_t k = 1; k < length; ++k) {
            if ((static_cast<unsigned char>(text[i + k]) & 0xc0U) != 0x80) return false;
        }
        if (length > 2) {
            const auto second = static_cast<unsigned char>(text[i + 1]);
            if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
                (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90)) {
                return false;
            }
        }
        i += length;
    }
    return true;
}

char separator_of(std::string_view header) {
    constexpr std::string_view separators = ",;\t";
    std::array<std::size_t, 3> counts{};
    bool quoted = false;
    for (const char c : header) {
        if (c == '"') quoted = !quoted;
        const std::size_t at = separators.find(c);
        if (!quoted && at != std::string_view::npos) ++counts[at];
    }
    const auto best = std::ranges::max_element(counts);
    return separators[static_cast<std::size_t>(best - counts.begin())];
}

std::vector<std::string> first_row(std::string_view text, char separator, std::size_t& after) {
    std::vector<std::string> cells;
    const char* const end = text.data() + text.size();
    const char* const begin = skip_blank(text.data(), end);
    if (begin == end) {
        after = text.size();
        return cells;
    }
    std::vector<char> scratch;
    const char* const next = walk_row(
        text.data(), begin, end, separator,
        [&](std::size_t /*column*/, std::string_view cell, bool /*quoted*/, bool escaped) {
            scratch.clear();
            if (escaped) undouble(cell, scratch);
            cells.emplace_back(escaped ? std::string_view(scratch.data(), scratch.size()) : cell);
        });
    after = static_cast<std::size_t>(next - text.data());
    return cells;
}

std::string_view CsvPiece::unescaped(std::string_view text) {
    // The cells of a piece are no longer than the piece: the arena never moves.
    if (arena_.capacity() < text_.size()) arena_.reserve(text_.size());
    const std::size_t before = arena_.size();
    undouble(text, arena_);
    return {arena_.data() + before, arena_.size() - before};
}

void CsvPiece::read_row(std::size_t& at) {
    const char* const text = text_.data();
    std::size_t cells = 0;
    const char* const next =
        walk_row(text, text + at, text + text_.size(), shape_->separator,
                 [&](std::size_t column, std::string_view cell, bool quoted, bool escaped) {
                     ++cells;
                     if (column >= shape_->columns) return;
                     const std::size_t place = shape_->places[column];
                     if (place == CsvShape::unwanted) return;
                     if (cell.empty() && !quoted) cell = {};
                     cells_[place].push_back(escaped ? unescaped(cell) : cell);
                 });
    if (cells != shape_->columns) {
        throw RowFault{at,
                       fmt::format("the row has {} cell{}, the header {}", cells,
                                   cells == 1 ? "" : "s", shape_->columns),
                       "give every row as many cells as the header; text with separators belongs "
                       "in quotes"};
    }
    at = static_cast<std::size_t>(next - text);
}

void CsvPiece::split(std::string_view text, const CsvShape& shape) {
    text_ = text;
    shape_ = &shape;
    cells_.resize(shape.wanted);
    for (auto& cells : cells_)
        cells.clear();
    arena_.clear();
    rows_ = 0;
    fault_.reset();
    const char* const end = text.data() + text.size();
    std::size_t at = 0;
    try {
        while (true) {
            at = static_cast<std::size_t>(skip_blank(text.data() + at, end) - text.data());
            if (at == text.size()) break;
            read_row(at);
            ++rows_;
        }
    } catch (RowFault& fault) {
        for (auto& cells : cells_)
            cells.resize(rows_);
        fault_ = std::move(fault);
    }
}

std::size_t CsvPiece::lines_before(std::size_t row) const {
    const char* const text = text_.data();
    const char* const end = text + text_.size();
    const char* at = skip_blank(text, end);
    for (std::size_t r = 0; r < row; ++r) {
        at = walk_row(text, at, end, shape_->separator, [](auto&&...) {});
        at = skip_blank(at, end);
    }
    return count_lines(text_.substr(0, static_cast<std::size_t>(at - text)));
}

std::size_t CsvPiece::lines_before_fault() const {
    return count_lines(text_.substr(0, fault_->offset));
}

}  // namespace rudder::graph
