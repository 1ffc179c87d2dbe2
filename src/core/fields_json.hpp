// JSON of records, both ways, by their lists of fields. For sources only.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/fields.hpp"

namespace rudder {

template <Listed T>
[[nodiscard]] Json fields_json(const T& value);
template <Listed T>
[[nodiscard]] T fields_from_json(const Json& json, const std::string& where);

namespace detail {

template <class M>
Json member_json(const M& member) {
    if constexpr (Listed<M>) {
        return fields_json(member);
    } else {
        return member;
    }
}
template <class M>
Json member_json(const std::optional<M>& member) {
    return member ? member_json(*member) : Json(nullptr);
}
template <class M>
Json member_json(const std::vector<M>& members) {
    Json list = Json::array();
    for (const M& member : members)
        list.push_back(member_json(member));
    return list;
}

inline Error out_of_range(const char* key, const std::string& where) {
    return input_error(std::string("invalid value of key '") + key + "': out of range", where,
                       "make the file again, or restore it from a copy");
}

template <class M>
void read_member(const Json& json, const char* key, const std::string& where,
                 std::vector<M>& members) {
    for (const Json& one : json_field(json, key, where)) {
        if constexpr (Listed<M>) {
            members.push_back(fields_from_json<M>(one, where));
        } else {
            members.push_back(one.get<M>());
        }
    }
}
template <class M>
void read_member(const Json& json, const char* key, const std::string& where, M& member) {
    if constexpr (Listed<M>) {
        member = fields_from_json<M>(json_field(json, key, where), where);
    } else if constexpr (std::is_same_v<M, std::string>) {
        member = json_string(json, key, where);
    } else if constexpr (std::is_same_v<M, bool>) {
        member = json_bool(json, key, where);
    } else if constexpr (std::is_integral_v<M>) {
        const std::uint64_t value = json_u64(json, key, where);
        if (!std::in_range<M>(value)) throw out_of_range(key, where);
        member = static_cast<M>(value);
    } else {
        static_assert(std::is_floating_point_v<M>);
        member = static_cast<M>(json_number(json, key, where));
        if (!std::isfinite(member)) throw out_of_range(key, where);
    }
}

}  // namespace detail

/// All fields that are someone's to read, in order.
template <Listed T>
Json fields_json(const T& value) {
    Json json = Json::object();
    for_each_field<T>([&](const auto& f) {
        using M = typename std::decay_t<decltype(f)>::Value;
        if constexpr (Listed<M>) {
            if (f.name.empty()) {
                json.update(fields_json(value.*f.member));
                return;
            }
        } else {
            if (f.kind == FieldKind::inner) return;
        }
        json[std::string(f.name)] = detail::member_json(value.*f.member);
    });
    return json;
}

/// The reverse; an input Error naming `where` if something but an optional value is missing.
template <Listed T>
T fields_from_json(const Json& json, const std::string& where) {
    T value{};
    for_each_field<T>([&]<class M>(const Field<T, M>& f) {
        M& member = value.*f.member;
        const std::string name(f.name);
        if constexpr (Listed<M>) {
            if (f.added && !json.contains(name)) return;
            member = fields_from_json<M>(
                name.empty() ? json : json_field(json, name.c_str(), where), where);
        } else {
            if (f.kind == FieldKind::inner || (f.added && !json.contains(name))) return;
            if constexpr (requires { member.reset(); }) {
                if (json.contains(name) && !json[name].is_null())
                    detail::read_member(json, name.c_str(), where, member.emplace());
            } else {
                detail::read_member(json, name.c_str(), where, member);
            }
        }
    });
    return value;
}

}  // namespace rudder
