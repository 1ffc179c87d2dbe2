// Fields by their names: one member, and those of a record that are a type of their own.
#pragma once

#include <string_view>
#include <type_traits>

#include "rudder/core/fields.hpp"

namespace rudder {

/// The member of that name and type; null where there is none.
template <class M, class T>
requires Listed<std::remove_const_t<T>>
constexpr auto* member_named(T& record, std::string_view name) {
    std::conditional_t<std::is_const_v<T>, const M, M>* found = nullptr;
    for_each_field<std::remove_const_t<T>>([&](const auto& f) {
        using Value = typename std::decay_t<decltype(f)>::Value;
        if constexpr (std::is_same_v<Value, M>) {
            if (f.name == name) found = &(record.*f.member);
        }
    });
    return found;
}

/// Whether all fields of `Part` are fields of `Whole`, by name and type.
template <Listed Part, Listed Whole>
consteval bool fields_within() {
    bool all = true;
    for_each_field<Part>([&](const auto& part) {
        bool found = false;
        for_each_field<Whole>([&](const auto& whole) {
            found = found || (std::is_same_v<typename std::decay_t<decltype(part)>::Value,
                                             typename std::decay_t<decltype(whole)>::Value> &&
                              part.name == whole.name);
        });
        all = all && found;
    });
    return all;
}

/// Those fields of the whole that are a type of their own.
template <Listed Part, Listed Whole>
requires(fields_within<Part, Whole>()) constexpr Part part_of(const Whole& whole) {
    Part part{};
    for_each_field<Part>([&](const auto& f) {
        using M = typename std::decay_t<decltype(f)>::Value;
        part.*f.member = *member_named<M>(whole, f.name);
    });
    return part;
}

/// The reverse; other fields of the whole stay.
template <Listed Whole, Listed Part>
requires(fields_within<Part, Whole>()) constexpr void put_part(Whole& whole, const Part& part) {
    for_each_field<Part>([&](const auto& f) {
        using M = typename std::decay_t<decltype(f)>::Value;
        *member_named<M>(whole, f.name) = part.*f.member;
    });
}

}  // namespace rudder
