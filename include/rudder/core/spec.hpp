// What is written name[:value]{,key:value}, such as a policy or an agent: its description, its
// values, its text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rudder {

/// What a parameter takes. `specs` are others of the same family joined by '+', the rest of the
/// text; only a first parameter takes them.
enum class ParameterKind : std::uint8_t { whole, real, flag, word, file, specs };

struct SpecParameter {
    std::string_view name;
    ParameterKind kind = ParameterKind::whole;
    double minimum = 0;  ///< of numbers
    double maximum = 0;
    std::optional<double> fallback{};           ///< of numbers, where not given; empty: none
    std::string_view help{};                    ///< a few words, with their noun
    bool above_minimum = false;                 ///< the minimum itself is out of range
    bool below_maximum = false;                 ///< the maximum itself is out of range
    std::span<const std::string_view> words{};  ///< of `word`: those allowed; empty: any
    std::string_view word{};                    ///< of `word` and `file`, where not given

    /// What holds where it is not given, for people; empty: nothing.
    [[nodiscard]] std::string fallback_text() const;
};

/// Whether name:VALUE sets the first parameter. `shown`: it is part of the text even if not given,
/// and a value given is equal to the same value by default.
enum class SpecValue : std::uint8_t { none, optional, shown, required };

/// A description; what it shows must live as long as the program.
struct SpecInfo {
    std::string_view name;
    std::string_view sentence;  ///< what it does, in one sentence
    std::span<const SpecParameter> parameters{};
    SpecValue value = SpecValue::none;
};

/// Specs of one sort.
struct SpecFamily {
    std::string_view noun;  ///< "policy"
    /// The description of that name; a usage Error otherwise.
    const SpecInfo& (*find)(std::string_view name, const std::string& where);
};

/// A name with its parameters, compared by value.
class Spec {
public:
    /// Parses; a usage Error names what is wrong and lists the known names, keys or ranges.
    [[nodiscard]] static Spec parse(const SpecFamily& family, std::string_view text,
                                    const std::string& where);
    /// With nothing given.
    Spec(const SpecFamily& family, const SpecInfo& info);

    [[nodiscard]] const SpecInfo& info() const noexcept { return *info_; }
    [[nodiscard]] std::string_view name() const noexcept { return info_->name; }
    [[nodiscard]] bool has(std::string_view parameter) const noexcept;
    [[nodiscard]] bool given(std::string_view parameter) const noexcept;
    /// A parameter's number, given or by default, else 0; the parameter must be there. A flag
    /// counts 1 where it is given.
    [[nodiscard]] double number(std::string_view parameter) const;
    [[nodiscard]] std::uint64_t whole(std::string_view parameter) const {
        return static_cast<std::uint64_t>(number(parameter));
    }
    /// A parameter's word or file, given or by default; the parameter must be there.
    [[nodiscard]] std::string text(std::string_view parameter) const;
    /// Sets a number; a usage Error where there is no such parameter or it is out of range.
    void set(std::string_view parameter, double value, const std::string& where);
    /// The canonical text: what was given, in the order of the parameters.
    [[nodiscard]] std::string text() const;
    friend bool operator==(const Spec& a, const Spec& b);

protected:
    std::vector<Spec> members_;  ///< of `specs`

private:
    using Value = std::variant<std::monostate, double, std::string>;

    [[nodiscard]] std::size_t index(std::string_view parameter) const noexcept;
    [[nodiscard]] std::size_t required(std::string_view parameter, const std::string& where) const;
    [[nodiscard]] std::size_t value_index(const std::string& where) const;
    [[nodiscard]] Value shown(std::size_t at) const;
    void read(std::size_t at, std::optional<std::string_view> value, const std::string& where);
    void read_members(std::string_view text, const std::string& where);
    void put(std::size_t at, double value, const std::string& where);

    const SpecFamily* family_;
    const SpecInfo* info_;
    std::vector<Value> values_;  ///< by parameter; none: not given
};

}  // namespace rudder
