// One list of a record's fields, from which sums, differences, bytes, JSON and metrics follow.
//
//   struct Rows {
//       std::uint64_t hit = 0;
//       std::uint64_t demand = 0;
//       static constexpr auto fields = field_list(field("hit", &Rows::hit, FieldKind::count,
//       "..."),
//                                                 field("demand", &Rows::demand, ...));
//   };
//   static_assert(lists_all_fields<Rows>);
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace rudder {

/// What a field is to those who read it by its name.
enum class FieldKind : std::uint8_t {
    inner,    ///< travels and adds up; not written by that name, and not a metric
    plain,    ///< written; not a metric
    count,    ///< whole; sums over steps and ranks mean something
    seconds,  ///< likewise, with a fraction
    value,    ///< as it was then, with a fraction
    setting,  ///< as it was then, whole
};

template <class T, class M>
struct Field {
    using Value = M;
    std::string_view name;  ///< empty, of a listed type: its fields stand among these
    M T::*member;
    FieldKind kind = FieldKind::inner;
    std::string_view help{};  ///< one sentence, without its full stop
    bool added = false;       ///< what earlier versions wrote lacks it: it means zero there
};

template <class T, class M>
constexpr Field<T, M> field(std::string_view name, M T::*member, FieldKind kind = FieldKind::inner,
                            std::string_view help = {}) {
    return {name, member, kind, help};
}

/// One that earlier versions did not write.
template <class T, class M>
constexpr Field<T, M> added_field(std::string_view name, M T::*member, FieldKind kind,
                                  std::string_view help) {
    return {name, member, kind, help, true};
}

/// In the order of their declaration.
template <class... Fields>
constexpr std::tuple<Fields...> field_list(const Fields&... fields) {
    return {fields...};
}

/// Of types that only travel.
template <class T, class... Ms>
constexpr std::tuple<Field<T, Ms>...> unnamed_fields(Ms T::*... members) {
    return {Field<T, Ms>{{}, members}...};
}

/// A type that has such a list.
template <class T>
concept Listed = requires {
    T::fields;
};

template <Listed T>
inline constexpr std::size_t field_count = std::tuple_size_v<std::decay_t<decltype(T::fields)>>;

/// Calls `visit` with each field.
template <Listed T, class Visit>
constexpr void for_each_field(Visit&& visit) {
    std::apply([&](const auto&... fields) { (visit(fields), ...); }, T::fields);
}

/// Whether the members listed fill the type, so that none was left out.
template <Listed T>
consteval bool fields_fill() {
    std::size_t end = 0;
    for_each_field<T>([&](const auto& f) {
        using M = typename std::decay_t<decltype(f)>::Value;
        end = (end + alignof(M) - 1) / alignof(M) * alignof(M) + sizeof(M);
    });
    return (end + alignof(T) - 1) / alignof(T) * alignof(T) == sizeof(T);
}
template <Listed T>
inline constexpr bool lists_all_fields = fields_fill<T>();

/// Adds what adds up, field by field; returns the sum.
template <Listed T>
constexpr T& add_fields(T& sum, const T& other) noexcept {
    for_each_field<T>([&](const auto& f) {
        using M = typename std::decay_t<decltype(f)>::Value;
        if constexpr (std::is_arithmetic_v<M> || Listed<M>) sum.*f.member += other.*f.member;
    });
    return sum;
}

/// The difference, field by field.
template <Listed T>
constexpr T minus_fields(T from, const T& other) noexcept {
    for_each_field<T>([&](const auto& f) {
        using M = typename std::decay_t<decltype(f)>::Value;
        if constexpr (Listed<M>) {
            from.*f.member = from.*f.member - other.*f.member;
        } else if constexpr (std::is_arithmetic_v<M>) {
            from.*f.member -= other.*f.member;
        }
    });
    return from;
}

}  // namespace rudder
