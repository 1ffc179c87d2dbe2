// Settings as data: the name, type, limits and help of each, and how its value is read and set.
// Command lines, configuration files, checkpoints and documents follow from tables of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/json.hpp"

namespace rudder {

enum class SettingKind : std::uint8_t { flag, integer, real, text, bytes, list };

/// The values a number may have.
struct SettingLimits {
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    bool above = false;    ///< `least` itself is excluded
    bool below = false;    ///< `most` itself is excluded
    bool by_type = false;  ///< `most` is what the type holds, which says nothing to people
};

/// What else may be said of a setting; several are joined with |.
enum class Marks : std::uint8_t {
    none = 0,
    identity = 1,  ///< results depend on it: a checkpoint compares it
    further = 2,   ///< few need it: shown by --help-all
    derived = 4,   ///< its default follows from other settings or the data
    added = 8,     ///< checkpoints of earlier versions lack it
};
constexpr Marks operator|(Marks a, Marks b) noexcept {
    return static_cast<Marks>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

/// What is known of a setting, whatever it belongs to.
struct SettingInfo {
    std::string_view name{};  ///< as in a configuration file; on the command line after two dashes
    std::string_view help{};
    std::string_view unit{};  ///< what stands for a value in help texts
    std::string_view none{};  ///< the word for no value, such as auto, where people may write one
    SettingKind kind = SettingKind::text;
    SettingLimits limits{};
    std::function<std::vector<std::string_view>()> words{};   ///< the only values, where such exist
    std::function<std::vector<std::string_view>()> offers{};  ///< what completion offers besides
    Marks marks = Marks::none;

    [[nodiscard]] bool marked(Marks mark) const noexcept { return (marks | mark) == marks; }
};

/// A value from what a person wrote. A usage Error that names the setting where it is not one.
[[nodiscard]] Json parse_setting(const SettingInfo& info, std::string_view text);
/// As a person would write it; nothing for a value that is not set.
[[nodiscard]] std::string setting_text(const Json& value);
/// The same of a setting's value, which may have a word for one that is not set.
[[nodiscard]] std::string setting_text(const SettingInfo& info, const Json& value);
/// Refuses (usage Error) a value outside the limits or the words of its setting.
void check_setting(const SettingInfo& info, const Json& value);
/// The position of a word among those of its setting; a usage Error that lists them otherwise.
[[nodiscard]] std::size_t word_index(const SettingInfo& info, std::string_view word);

/// A setting of a `T`.
template <class T>
struct Setting : SettingInfo {
    Json (*get)(const T&, const SettingInfo&) = nullptr;
    void (*set)(T&, const Json&, const SettingInfo&) = nullptr;

    [[nodiscard]] Json value(const T& owner) const { return get(owner, *this); }
    void put(T& owner, const Json& value) const { set(owner, value, *this); }

    // How tables are written: setting<...>(...).limit(1, 64)
    Setting limit(double least, double most) const { return limited({least, most}); }
    Setting at_least(double least) const {
        return limited({least, limits.most, false, limits.below, limits.by_type});
    }
    Setting above(double bound) const {
        return limited({bound, limits.most, true, limits.below, limits.by_type});
    }
    Setting below(double bound) const { return limited({limits.least, bound, limits.above, true}); }
    Setting among(std::function<std::vector<std::string_view>()> names) const {
        return with(&SettingInfo::words, std::move(names));
    }
    Setting among(std::initializer_list<std::string_view> names) const {
        return among([list = std::vector(names)] { return list; });
    }
    Setting offering(std::function<std::vector<std::string_view>()> names) const {
        return with(&SettingInfo::offers, std::move(names));
    }
    /// A word that people write for no value.
    Setting or_else(std::string_view word) const {
        return with(&SettingInfo::none, word).offering([word] { return std::vector{word}; });
    }
    Setting in(std::string_view shown_unit) const { return with(&SettingInfo::unit, shown_unit); }
    Setting in_bytes() const { return in("BYTES").with(&SettingInfo::kind, SettingKind::bytes); }

private:
    template <class M>
    Setting with(M SettingInfo::*member, std::type_identity_t<M> value) const {
        Setting copy = *this;
        copy.*member = std::move(value);
        return copy;
    }
    Setting limited(SettingLimits to) const { return with(&SettingInfo::limits, to); }
};

namespace setting_detail {

template <class V>
struct Optional : std::false_type {
    using Value = V;
};
template <class V>
struct Optional<std::optional<V>> : std::true_type {
    using Value = V;
};

template <class V>
inline constexpr bool is_text =
    std::is_same_v<V, std::string> || std::is_same_v<V, std::filesystem::path>;

template <class V>
Json to_json(const V& value, const SettingInfo& info) {
    if constexpr (Optional<V>::value) {
        return value ? to_json(*value, info) : Json(nullptr);
    } else if constexpr (std::is_enum_v<V>) {
        const auto known = info.words();
        const auto index = static_cast<std::size_t>(value);
        return index < known.size() ? Json(known[index]) : Json(nullptr);  // not for people
    } else if constexpr (std::is_same_v<V, std::filesystem::path>) {
        return Json(value.string());
    } else {
        return Json(value);
    }
}

template <class V>
void from_json(V& value, const Json& json, const SettingInfo& info) {
    if constexpr (Optional<V>::value) {
        if (json.is_null()) {
            value.reset();
        } else {
            from_json(value.emplace(), json, info);
        }
    } else if constexpr (std::is_enum_v<V>) {
        check_setting(info, json);
        value = static_cast<V>(word_index(info, json.get<std::string>()));
    } else if constexpr (std::is_same_v<V, std::filesystem::path>) {
        check_setting(info, json);
        value = json.get<std::string>();
    } else {
        check_setting(info, json);
        json.get_to(value);
    }
}

template <class V>
void describe(SettingInfo& info) {
    using Value = typename Optional<V>::Value;
    if constexpr (std::is_same_v<Value, bool>) {
        info.kind = SettingKind::flag;
    } else if constexpr (std::is_integral_v<Value>) {
        info.kind = SettingKind::integer;
        info.unit = std::is_signed_v<Value> ? "INT" : "UINT";
        info.limits = {static_cast<double>(std::numeric_limits<Value>::min()),
                       static_cast<double>(std::numeric_limits<Value>::max()), false, false, true};
    } else if constexpr (std::is_floating_point_v<Value>) {
        info.kind = SettingKind::real;
        info.unit = "FLOAT";
    } else if constexpr (is_text<Value> || std::is_enum_v<Value>) {
        info.unit = "TEXT";
    } else {
        info.kind = SettingKind::list;
        info.unit = "N,N";
    }
}

}  // namespace setting_detail

/// The member that pointers to members lead to, one after the other.
template <auto... Path, class T>
constexpr auto& member_at(T& owner) {
    // clang-format off
    return (owner .* ... .* Path);
    // clang-format on
}

/// The setting behind a member: `Path` leads to it, pointer to member after pointer to member.
template <class T, auto... Path>
Setting<T> setting(std::string_view name, std::string_view help, Marks marks = Marks::none) {
    using V = std::remove_cvref_t<decltype(member_at<Path...>(std::declval<T&>()))>;
    Setting<T> made;
    made.name = name;
    made.help = help;
    made.marks = marks;
    setting_detail::describe<V>(made);
    made.get = [](const T& owner, const SettingInfo& info) {
        return setting_detail::to_json<V>(member_at<Path...>(owner), info);
    };
    made.set = [](T& owner, const Json& value, const SettingInfo& info) {
        setting_detail::from_json<V>(member_at<Path...>(owner), value, info);
    };
    return made;
}

/// A flag that switches a member off.
template <class T, auto... Path>
Setting<T> off_setting(std::string_view name, std::string_view help, Marks marks = Marks::none) {
    Setting<T> made = setting<T, Path...>(name, help, marks);
    made.get = [](const T& owner, const SettingInfo& /*info*/) {
        return Json(!member_at<Path...>(owner));
    };
    made.set = [](T& owner, const Json& value, const SettingInfo& info) {
        check_setting(info, value);
        member_at<Path...>(owner) = !value.template get<bool>();
    };
    return made;
}

}  // namespace rudder
