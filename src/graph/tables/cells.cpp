#include "cells.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

#include "id_map.hpp"

namespace rudder::graph {

namespace {

constexpr std::string_view number_separators = ";,| \t";
constexpr const char* mixed_remedy =
    "correct the cell, or leave the column out of the schema's features";

/// Calls `f` for each word of a text of numbers.
template <class F>
void for_number_words(std::string_view text, F&& f) {
    if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
    while (true) {
        const std::size_t begin = text.find_first_not_of(number_separators);
        if (begin == std::string_view::npos) return;
        const std::size_t end = std::min(text.find_first_of(number_separators, begin), text.size());
        f(text.substr(begin, end - begin));
        text.remove_prefix(end);
    }
}

/// Of a number that no double holds: whether it is too small, by the power of ten of its first
/// digit.
bool is_tiny(std::string_view text) noexcept {
    const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
    std::int32_t exponent = 0;
    if (mark < text.size()) {
        std::string_view digits = text.substr(mark + 1);
        if (digits.starts_with('+')) digits.remove_prefix(1);
        const auto [stop, code] =
            std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
        if (code == std::errc::result_out_of_range) return digits.starts_with('-');
    }
    const std::string_view digits = text.substr(0, mark);
    const std::size_t point = std::min(digits.find('.'), mark);
    const std::size_t first = std::min(digits.find_first_of("123456789"), mark);
    const std::int64_t power = first < point ? static_cast<std::int64_t>(point - first) - 1
                                             : -static_cast<std::int64_t>(first - point);
    return power + exponent < 0;
}

/// Keeps the first cell of each column, and stops the walk.
class Sampler final : public TableVisitor {
public:
    struct Enough {};

    explicit Sampler(std::size_t columns) : samples(columns) {}
    void begin(std::size_t /*slots*/) override {}
    void batch(std::size_t slot, const TableBatch& batch) override {
        if (slot != 0) return;
        for (std::size_t i = 0; i < samples.size(); ++i)
            look(batch, i);
    }
    void end() override { throw Enough{}; }

    std::vector<ColumnSample> samples;

private:
    void look(const TableBatch& batch, std::size_t column) {
        ColumnSample& sample = samples[column];
        const TableColumn& cells = batch.columns[column];
        sample.kind = cells.kind;
        sample.width = cells.width;
        CellReader reader(batch, column);
        for (std::size_t row = 0; row < batch.rows && !sample.first; ++row) {
            if (cells.kind == CellKind::list) {
                if (!cells.is_missing(row)) sample.first = reader.shown(row);
            } else if (const auto text = reader.text(row); text && !means_missing(*text)) {
                sample.first = std::string(*text);
            }
        }
    }
};

}  // namespace

bool means_missing(std::string_view text) noexcept {
    constexpr std::array<std::string_view, 9> words{"",   "NA",   "NaN",  "nan", "N/A",
                                                    "na", "null", "NULL", "None"};
    return text.size() <= 4 && std::ranges::find(words, text) != words.end();
}

std::optional<double> parse_number(std::string_view text) noexcept {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, value);
    if (text.empty() || stop != end || code == std::errc::invalid_argument) return std::nullopt;
    if (code == std::errc::result_out_of_range)
        return is_tiny(text) ? 0.0 : std::numeric_limits<double>::infinity();
    return value;
}

std::size_t count_numbers(std::string_view text) {
    std::size_t count = 0;
    for_number_words(text, [&](std::string_view) { ++count; });
    return count;
}

std::string CellReader::shown(std::size_t row) const {
    switch (cells_.kind) {
        case CellKind::text:
            return shown_cell(cells_.texts[row]);
        case CellKind::integer:
            return std::to_string(cells_.integers[row]);
        case CellKind::real:
            return fmt::format("{}", cells_.reals[row]);
        case CellKind::list:
            break;
    }
    std::string list;
    for (std::size_t i = 0; i < cells_.width; ++i)
        list += fmt::format("{}{}", i == 0 ? "" : ";", cells_.reals[row * cells_.width + i]);
    return shown_cell(list);
}

std::optional<double> CellReader::number(std::size_t row) const {
    if (cells_.is_missing(row)) return std::nullopt;
    double value = 0;
    switch (cells_.kind) {
        case CellKind::text: {
            const auto parsed = parse_number(cells_.texts[row]);
            if (!parsed && !means_missing(cells_.texts[row]))
                throw fault(row, fmt::format("invalid number: '{}'", shown(row)), mixed_remedy);
            if (!parsed || std::isnan(*parsed)) return std::nullopt;
            value = *parsed;
            break;
        }
        case CellKind::integer:
            return static_cast<double>(cells_.integers[row]);
        case CellKind::real:
            value = cells_.reals[row];
            if (std::isnan(value)) return std::nullopt;
            break;
        case CellKind::list:
            throw fault(row, "invalid number: a list", "say kind = \"list\" for the column");
    }
    if (std::isinf(value)) {
        throw fault(row, fmt::format("invalid number: '{}' is not finite", shown(row)),
                    "replace the value");
    }
    return value;
}

std::optional<std::int64_t> CellReader::integer(std::size_t row) const {
    if (cells_.is_missing(row)) return std::nullopt;
    if (cells_.kind == CellKind::integer) return cells_.integers[row];
    if (cells_.kind == CellKind::text) {
        const std::string_view text = cells_.texts[row];
        if (means_missing(text)) return std::nullopt;
        if (const auto value = plain_integer(text)) return value;
    }
    throw fault(row, fmt::format("invalid integer: '{}'", shown(row)),
                "give whole numbers of 64 bits, such as seconds since 1970 for times");
}

std::optional<std::string_view> CellReader::text(std::size_t row) {
    if (cells_.is_missing(row)) return std::nullopt;
    if (cells_.kind == CellKind::text) {
        if (cells_.texts[row].empty()) return std::nullopt;
        return cells_.texts[row];
    }
    if (cells_.kind == CellKind::real && std::isnan(cells_.reals[row])) return std::nullopt;
    scratch_ = shown(row);
    return scratch_;
}

bool CellReader::numbers(std::size_t row, std::span<float> out) const {
    if (cells_.is_missing(row)) return false;
    const auto put = [&](std::size_t i, double value) {
        out[i] = static_cast<float>(value);
        if (std::isfinite(out[i])) return;
        throw fault(row, fmt::format("a number of the list '{}' is not finite", shown(row)),
                    "replace the value");
    };
    const auto wrong_length = [&](std::size_t found) {
        return fault(row,
                     fmt::format("the list '{}' has {} numbers, the first of the column {}",
                                 shown(row), found, out.size()),
                     "give lists of equal length");
    };
    if (cells_.kind == CellKind::list) {
        if (cells_.width != out.size()) throw wrong_length(cells_.width);
        for (std::size_t i = 0; i < out.size(); ++i)
            put(i, cells_.reals[row * out.size() + i]);
        return true;
    }
    if (cells_.kind != CellKind::text)
        throw fault(row, "invalid list: a single number", "say kind = \"number\"");
    if (means_missing(cells_.texts[row])) return false;
    std::size_t count = 0;
    for_number_words(cells_.texts[row], [&](std::string_view word) {
        const auto value = parse_number(word);
        if (!value) {
            throw fault(row, fmt::format("invalid number: '{}'", shown_cell(word)), mixed_remedy);
        }
        if (count < out.size()) put(count, *value);
        ++count;
    });
    if (count != out.size()) throw wrong_length(count);
    return true;
}

std::uint32_t NameCodes::code(std::string_view name) {
    const auto found = codes_.find(name);
    if (found != codes_.end()) return found->second;
    const auto code = static_cast<std::uint32_t>(names_.size());
    codes_.emplace(std::string(name), code);
    names_.emplace_back(name);
    return code;
}

NameCodes::Order NameCodes::order() const {
    std::vector<std::uint32_t> sorted(names_.size());
    std::iota(sorted.begin(), sorted.end(), 0U);
    const bool whole = std::ranges::all_of(
        names_, [](const std::string& name) { return plain_integer(name).has_value(); });
    if (whole) {
        std::ranges::sort(sorted, {}, [&](std::uint32_t i) { return *plain_integer(names_[i]); });
    } else {
        std::ranges::sort(sorted, {}, [&](std::uint32_t i) { return names_[i]; });
    }
    Order order;
    order.place.resize(names_.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        order.names.push_back(names_[sorted[i]]);
        order.place[sorted[i]] = static_cast<std::uint32_t>(i);
    }
    return order;
}

std::vector<ColumnSample> sample_columns(const Table& table,
                                         const std::vector<std::string>& columns) {
    Sampler sampler(columns.size());
    try {
        table.walk(columns, sampler);
    } catch (const Sampler::Enough&) {
        // As was meant: the first round says enough.
    }
    return std::move(sampler.samples);
}

}  // namespace rudder::graph
