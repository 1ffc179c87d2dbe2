#include "json.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

namespace rudder {

namespace {

constexpr int max_depth = 32;

Error bad(const std::string& what, const std::string& where) {
    return input_error(what, where, "make the file again, or restore it from a copy");
}

/// Refuses deep nesting and repeated keys while the library parses.
struct Guard {
    const std::string& where;
    std::vector<std::set<std::string>> keys{};

    bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
        using Event = Json::parse_event_t;
        if (depth > max_depth) throw bad("JSON nested too deeply", where);
        if (event == Event::object_start) keys.emplace_back();
        if (event == Event::object_end) keys.pop_back();
        if (event == Event::key && !keys.back().insert(parsed.get<std::string>()).second) {
            throw bad(fmt::format("key '{}' appears twice", parsed.get<std::string>()), where);
        }
        return true;
    }
};

/// "line 3, column 7" of a byte, counted from 1 in characters; of a single line the column alone.
std::string position_of(std::string_view text, std::size_t byte) {
    const std::string_view before = text.substr(0, byte - 1);
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; };
    const std::string_view line = before.substr(line_start);
    const auto column =
        line.size() - static_cast<std::size_t>(std::ranges::count_if(line, continues)) + 1;
    if (text.find('\n') == std::string_view::npos) return fmt::format("column {}", column);
    return fmt::format("line {}, column {}", 1 + std::ranges::count(before, '\n'), column);
}

/// What the library stumbled over, in our words.
Error broken(std::string_view text, std::size_t byte, const std::string& where) {
    std::string what = "the text ends too early";
    const std::size_t at = std::min(std::max<std::size_t>(byte, 1), text.size() + 1);
    if (at <= text.size()) {
        const auto found = static_cast<unsigned char>(text[at - 1]);
        const bool shown = found >= ' ' && found < 0x7F;
        what = shown ? fmt::format("unexpected '{}'", text[at - 1])
                     : fmt::format("unexpected byte 0x{:02x}", found);
    }
    return input_error(fmt::format("invalid JSON at {}: {}", position_of(text, at), what), where,
                       "correct it there, make the file again, or restore it from a copy");
}

}  // namespace

Json parse_json(std::string_view text, const std::string& where) {
    Guard guard{where};
    try {
        return Json::parse(text, [&guard](int depth, Json::parse_event_t event, Json& parsed) {
            return guard(depth, event, parsed);
        });
    } catch (const Json::parse_error& error) {
        throw broken(text, error.byte, where);
    } catch (const Json::exception&) {  // the only other fault of a text
        throw bad("invalid JSON: a number is out of range", where);
    }
}

Json read_json(const std::filesystem::path& file, std::uint64_t limit) {
    return parse_json(read_text(file, limit), file.string());
}

Json json_object(std::initializer_list<std::pair<std::string_view, Json>> fields) {
    Json object = Json::object();
    for (const auto& [key, value] : fields)
        object[std::string(key)] = value;
    return object;
}

const Json& json_field(const Json& object, const char* key, const std::string& where) {
    if (!object.is_object()) throw bad("a JSON object is expected", where);
    const auto found = object.find(key);
    if (found == object.end()) throw bad(fmt::format("key '{}' is missing", key), where);
    return *found;
}

namespace {

template <class T>
T value_of(const Json& object, const char* key, const std::string& where,
           bool (Json::*has_type)() const noexcept, const char* expected) {
    const Json& field = json_field(object, key, where);
    if ((field.*has_type)()) return field.get<T>();
    throw bad(fmt::format("invalid value of key '{}': expected {}", key, expected), where);
}

}  // namespace

std::uint64_t json_u64(const Json& object, const char* key, const std::string& where) {
    return value_of<std::uint64_t>(object, key, where, &Json::is_number_unsigned,
                                   "a whole number, 0 or more");
}

double json_number(const Json& object, const char* key, const std::string& where) {
    return value_of<double>(object, key, where, &Json::is_number, "a number");
}

std::string json_string(const Json& object, const char* key, const std::string& where) {
    return value_of<std::string>(object, key, where, &Json::is_string, "a string");
}

bool json_bool(const Json& object, const char* key, const std::string& where) {
    return value_of<bool>(object, key, where, &Json::is_boolean, "true or false");
}

}  // namespace rudder
