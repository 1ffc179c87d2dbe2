// A TOML file read key by key: what is missing, wrong or unknown is refused by file, line and key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/setting.hpp"
#include "rudder/core/error.hpp"

namespace rudder {

/// A table of such a file. Keys are asked for by name; `finish` refuses those nobody asked for.
/// Every Error is one of input (exit code 3).
class TomlTable {
public:
    /// The whole of a small file.
    [[nodiscard]] static TomlTable read(const std::filesystem::path& file);
    /// The same of a text; `where` stands for the file in messages.
    [[nodiscard]] static TomlTable parse(std::string_view text, std::string where);

    /// Whether the key is there. It then counts as asked for.
    [[nodiscard]] bool has(std::string_view key) const;

    // Each is an Error where the key is missing, of another type, or outside its limits.

    [[nodiscard]] std::string text(std::string_view key) const;
    [[nodiscard]] bool truth(std::string_view key) const;
    /// A finite number, whole or not.
    [[nodiscard]] double number(std::string_view key, const SettingLimits& limits = {}) const;
    [[nodiscard]] std::uint64_t whole(std::string_view key, const SettingLimits& limits = {}) const;
    /// One of some words: its position.
    [[nodiscard]] std::size_t word(std::string_view key,
                                   std::span<const std::string_view> words) const;
    /// A list of texts, of numbers, or of whole numbers.
    [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
    [[nodiscard]] std::vector<double> numbers(std::string_view key,
                                              const SettingLimits& limits = {}) const;
    [[nodiscard]] std::vector<std::uint64_t> wholes(std::string_view key,
                                                    const SettingLimits& limits = {}) const;
    /// A table below this one.
    [[nodiscard]] TomlTable table(std::string_view key) const;
    /// A list of tables; empty where the key is missing.
    [[nodiscard]] std::vector<TomlTable> tables(std::string_view key) const;
    /// The keys that are there, in ascending order. They do not count as asked for.
    [[nodiscard]] std::vector<std::string> keys() const;

    /// Refuses keys that were not asked for, with the nearest of those that were.
    void finish() const;

    /// An Error about a key (of this table: its line, or the table's where the key is missing).
    [[nodiscard]] Error fault(std::string_view key, std::string_view what,
                              std::string remedy) const;
    /// Of the table itself.
    [[nodiscard]] Error fault(std::string_view what, std::string remedy) const;
    /// "FILE, line N" of the key, or of the table.
    [[nodiscard]] std::string place(std::string_view key = {}) const;
    /// The file, as it was named.
    [[nodiscard]] const std::string& file() const noexcept { return file_; }

private:
    struct Value;
    struct Tree;

    TomlTable(std::string file, std::string name, std::uint32_t line,
              std::shared_ptr<const Tree> tree)
        : file_(std::move(file)), name_(std::move(name)), line_(line), tree_(std::move(tree)) {}

    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] const Value& need(std::string_view key) const;
    [[nodiscard]] std::string full(std::string_view key) const;
    [[nodiscard]] double number_of(const Value& value, std::string_view key,
                                   const SettingLimits& limits) const;
    [[nodiscard]] std::uint64_t whole_of(const Value& value, std::string_view key,
                                         const SettingLimits& limits) const;
    void check(double number, const std::string& shown, std::uint32_t line, std::string_view key,
               const SettingLimits& limits) const;
    [[nodiscard]] Error wrong(std::uint32_t line, std::string_view key, std::string_view what,
                              std::string remedy) const;
    [[nodiscard]] const std::vector<Value>& list(std::string_view key) const;

    std::string file_;
    std::string name_;  ///< "network.within" or "compute[2]"; empty at the top
    std::uint32_t line_ = 1;
    std::shared_ptr<const Tree> tree_;
    mutable std::set<std::string, std::less<>> asked_;
};

/// A text as TOML writes it, in quotes.
[[nodiscard]] std::string toml_quoted(std::string_view text);
/// A number as TOML writes it: read back, it is the same to the bit, and not a whole one.
[[nodiscard]] std::string toml_number(double number);

}  // namespace rudder
