// Reading JSON that may be hostile: sizes, depths and types checked, positions named. Include it
// in sources only: the library's header is heavy.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "rudder/core/json_fwd.hpp"

namespace rudder {

/// Parses `text`; an input Error naming `where`, line and column otherwise. Nesting deeper than 32
/// and repeated keys are refused.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& where);
/// The same from a file of at most `limit` bytes.
[[nodiscard]] Json read_json(const std::filesystem::path& file, std::uint64_t limit = 16U << 20);

/// An object of these fields, in this order. Where memory runs out in the middle of nested braces
/// the library's own constructor loses what it has made so far; this one does not.
[[nodiscard]] Json json_object(std::initializer_list<std::pair<std::string_view, Json>> fields);

/// Fields of an object; an input Error naming `where` and the key when absent or of another type.
[[nodiscard]] const Json& json_field(const Json& object, const char* key, const std::string& where);
[[nodiscard]] std::uint64_t json_u64(const Json& object, const char* key, const std::string& where);
[[nodiscard]] double json_number(const Json& object, const char* key, const std::string& where);
[[nodiscard]] std::string json_string(const Json& object, const char* key,
                                      const std::string& where);
[[nodiscard]] bool json_bool(const Json& object, const char* key, const std::string& where);

}  // namespace rudder
