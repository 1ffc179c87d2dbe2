// Small helpers for words and quantities that people read and write.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rudder {

/// "1.5 GiB", "12 B".
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);
/// 1234567 as "1,234,567".
[[nodiscard]] std::string format_count(std::uint64_t count);
/// 0.25 as "25 %".
[[nodiscard]] std::string format_percent(double share);
/// "4", "512k", "1.5GiB", "2gb" as bytes (k, m, g, t; powers of 1024 with i, of 1000 with b alone).
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);
/// A whole number and nothing else.
[[nodiscard]] std::optional<std::uint64_t> parse_u64(std::string_view text) noexcept;
/// A finite number and nothing else.
[[nodiscard]] std::optional<double> parse_double(std::string_view text) noexcept;
/// Without white space at either end.
[[nodiscard]] std::string_view trimmed(std::string_view text);
/// The pieces between separators; at least one, possibly empty.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// Not of a string that ends with the call: the parts are views of it.
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&& text, char separator) = delete;
/// "a, b, c".
[[nodiscard]] std::string join(std::span<const std::string_view> words, std::string_view between);
/// The candidate nearest to a misspelt word, if one is near enough to be meant.
[[nodiscard]] std::optional<std::string_view> nearest(std::string_view word,
                                                      std::span<const std::string_view> candidates);

}  // namespace rudder
