#include "schema_check.hpp"

#include <algorithm>
#include <cmath>
#include <regex>

#include <gtest/gtest.h>

#include "core/json.hpp"

namespace rudder::test {

namespace {

bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "number") return value.is_number();
    EXPECT_EQ(type, "integer");
    return value.is_number() && value.get<double>() == std::floor(value.get<double>());
}

bool fits_properties(const Json& value, const Json& schema) {
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [key, member] : value.items()) {
        if (properties.contains(key)) {
            if (!fits_schema(member, properties[key])) return false;
        } else if (schema.contains("additionalProperties")) {
            return false;  // ours are always false
        }
    }
    return true;
}

bool fits_keyword(const Json& value, const std::string& keyword, const Json& rule) {
    const auto any = [&](auto matches) { return std::any_of(rule.begin(), rule.end(), matches); };
    if (keyword == "type") return has_type(value, rule.get<std::string>());
    if (keyword == "const") return value == rule;
    if (keyword == "enum") return any([&](const Json& one) { return one == value; });
    if (keyword == "anyOf") return any([&](const Json& one) { return fits_schema(value, one); });
    if (keyword == "minimum") return !value.is_number() || value >= rule;
    if (keyword == "maximum") return !value.is_number() || value <= rule;
    if (keyword == "exclusiveMinimum") return !value.is_number() || value > rule;
    if (keyword == "minProperties") return value.size() >= rule.get<std::size_t>();
    if (keyword == "maxLength") {
        return !value.is_string() || value.get<std::string>().size() <= rule.get<std::size_t>();
    }
    if (keyword == "pattern") {
        return !value.is_string() ||
               std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
    }
    if (keyword == "required") {
        return std::all_of(rule.begin(), rule.end(),
                           [&](const Json& key) { return value.contains(key.get<std::string>()); });
    }
    if (keyword == "items") {
        return std::all_of(value.begin(), value.end(),
                           [&](const Json& element) { return fits_schema(element, rule); });
    }
    EXPECT_TRUE(keyword == "properties" || keyword == "additionalProperties" ||
                keyword == "description" || keyword == "title" || keyword == "$schema")
        << "unknown keyword " << keyword;
    return true;
}

}  // namespace

bool fits_schema(const Json& value, const Json& schema) {
    // The type first: the other keywords take it for granted.
    if (schema.contains("type") && !has_type(value, schema["type"].get<std::string>())) {
        return false;
    }
    for (const auto& [keyword, rule] : schema.items()) {
        if (!fits_keyword(value, keyword, rule)) return false;
    }
    return !value.is_object() || fits_properties(value, schema);
}

}  // namespace rudder::test
