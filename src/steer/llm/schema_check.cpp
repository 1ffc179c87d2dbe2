// Checks a value against the part of JSON schema that ours use.
#include <algorithm>

#include <fmt/format.h>

#include "core/json.hpp"

#include "http.hpp"
#include "reply.hpp"

namespace rudder::steer {

namespace {

std::string shown(const Json& value) {
    return printable(value.dump(-1, ' ', true, Json::error_handler_t::replace), 60);
}

std::string_view type_name(const Json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    if (value.is_string()) return "text";
    if (value.is_boolean()) return "a truth value";
    if (value.is_null()) return "null";
    return value.is_number_float() ? "a number with a fraction" : "a whole number";
}

bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "string") return value.is_string();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return false;
}

std::string_view wanted_type(const std::string& type) {
    if (type == "object") return "an object";
    if (type == "string") return "text";
    return type == "integer" ? "a whole number" : "a number";
}

std::string words_of(const Json& list) {
    std::string words;
    for (const Json& word : list)
        words += fmt::format("{}{}", words.empty() ? "" : ", ", shown(word));
    return words;
}

std::string object_problem(const Json& value, const Json& schema, const std::string& name) {
    const Json& properties = schema.at("properties");
    if (const auto required = schema.find("required"); required != schema.end()) {
        for (const Json& key : *required) {
            const std::string& text = key.get_ref<const std::string&>();
            if (!value.contains(text)) return fmt::format("{} lacks the key '{}'", name, text);
        }
    }
    for (const auto& [key, member] : value.items()) {
        const auto property = properties.find(key);
        if (property == properties.end()) {
            return fmt::format("{} has a key that does not belong there: '{}'", name,
                               printable(key, 40));
        }
        if (auto problem = schema_problem(member, *property, fmt::format("'{}'", key));
            !problem.empty()) {
            return problem;
        }
    }
    if (value.size() < schema.value("minProperties", std::size_t{0}))
        return fmt::format("{} is empty", name);
    return {};
}

/// Whether an object holds the constant that makes it the variant a schema describes.
bool is_meant(const Json& value, const Json& schema) {
    if (!schema.contains("properties") || !value.is_object()) return false;
    for (const auto& [key, property] : schema["properties"].items()) {
        if (property.contains("const"))
            return value.contains(key) && value[key] == property["const"];
    }
    // A variant without a constant is known by what it requires.
    const auto required = schema.find("required");
    return required != schema.end() && std::ranges::all_of(*required, [&](const Json& key) {
               return value.contains(key.get_ref<const std::string&>());
           });
}

std::string any_problem(const Json& value, const Json& variants, const std::string& name) {
    std::string first;
    for (const Json& variant : variants) {
        std::string problem = schema_problem(value, variant, name);
        if (problem.empty()) return {};
        // The one the writer meant tells most.
        if (first.empty() && is_meant(value, variant)) first = std::move(problem);
    }
    if (!first.empty()) return first;
    if (!value.is_object()) return fmt::format("{} is {}, not an object", name, type_name(value));
    const std::string first_key = value.empty() ? std::string{} : value.begin().key();
    std::string constants;
    std::string key;
    for (const Json& variant : variants) {
        for (const auto& [word, property] : variant["properties"].items()) {
            if (!property.contains("const")) continue;
            key = word;
            const std::string text = shown(property["const"]);
            if (constants.find(text) == std::string::npos)
                constants += (constants.empty() ? "" : ", ") + text;
        }
    }
    if (constants.empty() && value.empty()) return fmt::format("{} is empty", name);
    if (constants.empty()) {
        return fmt::format("{} has a key that does not belong there: '{}'", name,
                           printable(first_key, 40));
    }
    if (!value.contains(key)) {
        return fmt::format("{} lacks the key '{}' (its first is '{}')", name, key,
                           printable(first_key, 40));
    }
    return fmt::format("'{}' is {}, none of {}", key, shown(value[key]), constants);
}

}  // namespace

std::string schema_problem(const Json& value, const Json& schema, const std::string& name) {
    if (const auto variants = schema.find("anyOf"); variants != schema.end())
        return any_problem(value, *variants, name);
    if (const auto type = schema.find("type");
        type != schema.end() && !has_type(value, type->get_ref<const std::string&>())) {
        return fmt::format("{} is {}, not {}", name, type_name(value),
                           wanted_type(type->get_ref<const std::string&>()));
    }
    if (const auto only = schema.find("const"); only != schema.end() && value != *only)
        return fmt::format("{} is {}, not {}", name, shown(value), shown(*only));
    if (const auto words = schema.find("enum");
        words != schema.end() && std::ranges::find(*words, value) == words->end()) {
        return fmt::format("{} is {}, none of {}", name, shown(value), words_of(*words));
    }
    if (const auto least = schema.find("minimum"); least != schema.end() && value < *least)
        return fmt::format("{} is {}, below {}", name, shown(value), shown(*least));
    if (const auto most = schema.find("maximum"); most != schema.end() && value > *most)
        return fmt::format("{} is {}, above {}", name, shown(value), shown(*most));
    if (const auto most = schema.find("maxLength");
        most != schema.end() &&
        value.get_ref<const std::string&>().size() > most->get<std::size_t>()) {
        return fmt::format("{} is longer than {} characters", name, shown(*most));
    }
    return schema.contains("properties") ? object_problem(value, schema, name) : std::string{};
}

}  // namespace rudder::steer
