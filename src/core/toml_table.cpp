#include "toml_table.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <variant>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

namespace rudder {

namespace {

constexpr std::uint64_t most_bytes = 8 << 20;

/// "from 0 on", "above 0", "from 1 to 64".
std::string bounds_text(const SettingLimits& limits) {
    const bool up_to = std::isfinite(limits.most) && !limits.by_type;
    std::string text = std::isfinite(limits.least)
                           ? fmt::format("{} {}", limits.above ? "above" : "from", limits.least)
                           : std::string();
    if (up_to) {
        text += fmt::format("{}{} {}", text.empty() ? "" : " ", limits.below ? "below" : "to",
                            limits.most);
    } else if (!text.empty() && !limits.above) {
        text += " on";
    }
    return text;
}

bool inside(double number, const SettingLimits& limits) {
    const bool enough = limits.above ? number > limits.least : number >= limits.least;
    const bool few = limits.below ? number < limits.most : number <= limits.most;
    return enough && few;
}

}  // namespace

struct TomlTable::Value {
    /// `monostate` is a date or a time, which no key of ours is.
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<Value>,
                 std::shared_ptr<const Tree>>
        held;
    std::uint32_t line = 0;
};

struct TomlTable::Tree {
    std::map<std::string, Value, std::less<>> values;

    [[nodiscard]] static std::shared_ptr<const Tree> of(const toml::table& table) {
        auto tree = std::make_shared<Tree>();
        for (const auto& [key, node] : table)
            tree->values.emplace(std::string(key.str()), value_of(node));
        return tree;
    }
    [[nodiscard]] static Value value_of(const toml::node& node) {
        Value value;
        value.line = node.source().begin.line;
        if (const auto* truth = node.as_boolean()) {
            value.held = truth->get();
        } else if (const auto* whole = node.as_integer()) {
            value.held = whole->get();
        } else if (const auto* number = node.as_floating_point()) {
            value.held = number->get();
        } else if (const auto* text = node.as_string()) {
            value.held = text->get();
        } else if (const auto* table = node.as_table()) {
            value.held = of(*table);
        } else if (const auto* items = node.as_array()) {
            std::vector<Value> all;
            for (const toml::node& item : *items)
                all.push_back(value_of(item));
            value.held = std::move(all);
        }
        return value;
    }
};

TomlTable TomlTable::read(const std::filesystem::path& file) {
    return parse(read_text(file, most_bytes), file.string());
}

TomlTable TomlTable::parse(std::string_view text, std::string where) {
    try {
        auto tree = Tree::of(toml::parse(text, where));
        return {std::move(where), "", 1, std::move(tree)};
    } catch (const toml::parse_error& error) {
        throw input_error(fmt::format("not valid TOML: {}", error.description()),
                          fmt::format("{}, line {}, column {}", where, error.source().begin.line,
                                      error.source().begin.column),
                          "correct the line");
    }
}

const TomlTable::Value* TomlTable::find(std::string_view key) const {
    asked_.emplace(key);
    const auto found = tree_->values.find(key);
    return found == tree_->values.end() ? nullptr : &found->second;
}

bool TomlTable::has(std::string_view key) const {
    return find(key) != nullptr;
}

const TomlTable::Value& TomlTable::need(std::string_view key) const {
    const Value* value = find(key);
    if (value == nullptr) {
        throw input_error(fmt::format("key '{}' is missing", full(key)), place(),
                          fmt::format("add {} = ...", key));
    }
    return *value;
}

std::string TomlTable::full(std::string_view key) const {
    return name_.empty() ? std::string(key) : fmt::format("{}.{}", name_, key);
}

std::string TomlTable::place(std::string_view key) const {
    const auto found = tree_->values.find(key);
    return fmt::format("{}, line {}", file_,
                       found == tree_->values.end() ? line_ : found->second.line);
}

Error TomlTable::fault(std::string_view key, std::string_view what, std::string remedy) const {
    return input_error(fmt::format("invalid value of key '{}': {}", full(key), what), place(key),
                       std::move(remedy));
}

Error TomlTable::fault(std::string_view what, std::string remedy) const {
    return input_error(std::string(what), place(), std::move(remedy));
}

Error TomlTable::wrong(std::uint32_t line, std::string_view key, std::string_view what,
                       std::string remedy) const {
    return input_error(fmt::format("invalid value of key '{}': {}", full(key), what),
                       fmt::format("{}, line {}", file_, line), std::move(remedy));
}

std::string TomlTable::text(std::string_view key) const {
    const Value& value = need(key);
    if (const auto* text = std::get_if<std::string>(&value.held)) return *text;
    throw wrong(value.line, key, "not a text", "write it in quotes");
}

bool TomlTable::truth(std::string_view key) const {
    const Value& value = need(key);
    if (const auto* truth = std::get_if<bool>(&value.held)) return *truth;
    throw wrong(value.line, key, "neither true nor false", "write true or false without quotes");
}

void TomlTable::check(double number, const std::string& shown, std::uint32_t line,
                      std::string_view key, const SettingLimits& limits) const {
    if (inside(number, limits)) return;
    throw wrong(line, key, shown, fmt::format("give a number {}", bounds_text(limits)));
}

double TomlTable::number_of(const Value& value, std::string_view key,
                            const SettingLimits& limits) const {
    double number = std::nan("");
    if (const auto* whole = std::get_if<std::int64_t>(&value.held)) {
        number = static_cast<double>(*whole);
    } else if (const auto* real = std::get_if<double>(&value.held)) {
        number = *real;
    } else {
        throw wrong(value.line, key, "not a number", "write a number without quotes");
    }
    if (!std::isfinite(number))
        throw wrong(value.line, key, "not a finite number", "give a finite number");
    check(number, fmt::format("{}", number), value.line, key, limits);
    return number;
}

std::uint64_t TomlTable::whole_of(const Value& value, std::string_view key,
                                  const SettingLimits& limits) const {
    const auto* whole = std::get_if<std::int64_t>(&value.held);
    if (whole == nullptr) {
        throw wrong(value.line, key, "not a whole number",
                    "write a whole number without quotes or decimal point");
    }
    if (*whole < 0)
        throw wrong(value.line, key, std::to_string(*whole), "give a whole number from 0 on");
    check(static_cast<double>(*whole), std::to_string(*whole), value.line, key, limits);
    return static_cast<std::uint64_t>(*whole);
}

double TomlTable::number(std::string_view key, const SettingLimits& limits) const {
    return number_of(need(key), key, limits);
}

std::uint64_t TomlTable::whole(std::string_view key, const SettingLimits& limits) const {
    return whole_of(need(key), key, limits);
}

std::size_t TomlTable::word(std::string_view key, std::span<const std::string_view> words) const {
    const std::string written = text(key);
    const auto found = std::ranges::find(words, written);
    if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    throw fault(key, fmt::format("'{}'", written), fmt::format("use one of {}", join(words, ", ")));
}

const std::vector<TomlTable::Value>& TomlTable::list(std::string_view key) const {
    const Value& value = need(key);
    if (const auto* items = std::get_if<std::vector<Value>>(&value.held)) return *items;
    throw wrong(value.line, key, "not a list", "write it in square brackets");
}

std::vector<std::string> TomlTable::texts(std::string_view key) const {
    std::vector<std::string> all;
    for (const Value& item : list(key)) {
        const auto* text = std::get_if<std::string>(&item.held);
        if (text == nullptr)
            throw wrong(item.line, key, "not a list of texts", "write each in quotes");
        all.push_back(*text);
    }
    return all;
}

std::vector<double> TomlTable::numbers(std::string_view key, const SettingLimits& limits) const {
    std::vector<double> all;
    for (const Value& item : list(key))
        all.push_back(number_of(item, key, limits));
    return all;
}

std::vector<std::uint64_t> TomlTable::wholes(std::string_view key,
                                             const SettingLimits& limits) const {
    std::vector<std::uint64_t> all;
    for (const Value& item : list(key))
        all.push_back(whole_of(item, key, limits));
    return all;
}

TomlTable TomlTable::table(std::string_view key) const {
    const Value& value = need(key);
    if (const auto* tree = std::get_if<std::shared_ptr<const Tree>>(&value.held))
        return {file_, full(key), value.line, *tree};
    throw wrong(value.line, key, "not a table", fmt::format("write [{}]", full(key)));
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) const {
    if (!has(key)) return {};
    std::vector<TomlTable> all;
    for (const Value& item : list(key)) {
        const auto* tree = std::get_if<std::shared_ptr<const Tree>>(&item.held);
        if (tree == nullptr) {
            throw wrong(item.line, key, "not a list of tables",
                        fmt::format("write [[{}]]", full(key)));
        }
        const std::string name = fmt::format("{}[{}]", full(key), all.size() + 1);
        all.push_back({file_, name, item.line, *tree});
    }
    return all;
}

std::vector<std::string> TomlTable::keys() const {
    std::vector<std::string> all;
    for (const auto& [key, value] : tree_->values)
        all.push_back(key);
    return all;
}

void TomlTable::finish() const {
    // The first in the file, so that a person can go through it from the top.
    const std::pair<const std::string, Value>* first = nullptr;
    for (const auto& each : tree_->values) {
        if (asked_.contains(each.first)) continue;
        if (first == nullptr || each.second.line < first->second.line) first = &each;
    }
    if (first == nullptr) return;
    const std::vector<std::string_view> known(asked_.begin(), asked_.end());
    const auto meant = nearest(first->first, known);
    throw input_error(
        fmt::format("unknown key '{}'", full(first->first)),
        fmt::format("{}, line {}", file_, first->second.line),
        fmt::format("{}known are: {}", meant ? fmt::format("did you mean '{}'? ", *meant) : "",
                    join(known, ", ")));
}

std::string toml_quoted(std::string_view text) {
    std::ostringstream out;
    out << toml::value<std::string>(std::string(text));
    return out.str();
}

std::string toml_number(double number) {
    const std::string text = fmt::format("{}", number);
    return text + (text.find_first_of(".en") == std::string::npos ? ".0" : "");
}

}  // namespace rudder
