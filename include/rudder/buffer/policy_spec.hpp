// How a policy is written: name[:value]{,key:value}.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rudder::buffer {

/// What a parameter takes.
enum class ParameterKind : std::uint8_t { whole, real, flag };

/// One parameter of a policy.
struct PolicyParameter {
    std::string_view name;
    ParameterKind kind = ParameterKind::whole;
    double minimum = 0;
    double maximum = 0;
    double fallback = 0;         ///< where it is not given
    std::string_view help;       ///< a few words
    bool above_minimum = false;  ///< the minimum itself is out of range
    bool below_maximum = false;  ///< the maximum itself is out of range
};

/// What there is to say about a policy.
struct PolicyInfo {
    std::string_view name;
    std::string_view sentence;  ///< what it does, in one sentence
    std::string_view paper;     ///< where it is from
    std::span<const PolicyParameter> parameters;
    bool has_value = false;        ///< name:value sets the first parameter, which is always shown
    bool takes_decisions = false;  ///< an agent may tell it when to replace
};

/// All policies, in the order of the design's table.
[[nodiscard]] std::span<const PolicyInfo* const> all_policies() noexcept;
/// The policy of that name; a usage Error that lists the known ones otherwise. `where` is the
/// option it came from.
[[nodiscard]] const PolicyInfo& policy_info(std::string_view name, const std::string& where);

/// A policy with its parameters. Equal specs are written equally.
class PolicySpec {
public:
    /// Parses; a usage Error names what is wrong and lists the known names, keys or ranges.
    [[nodiscard]] static PolicySpec parse(std::string_view text,
                                          const std::string& where = "--policy");
    /// The policy of that name with nothing given.
    explicit PolicySpec(const PolicyInfo& info);

    [[nodiscard]] const PolicyInfo& info() const noexcept { return *info_; }
    [[nodiscard]] std::string_view name() const noexcept { return info_->name; }
    /// A parameter's value, given or not. The parameter must be one of the policy's.
    [[nodiscard]] double get(std::string_view parameter) const;
    [[nodiscard]] std::uint64_t whole(std::string_view parameter) const {
        return static_cast<std::uint64_t>(get(parameter));
    }
    [[nodiscard]] bool given(std::string_view parameter) const;
    [[nodiscard]] bool has(std::string_view parameter) const noexcept;
    /// Sets a parameter; a usage Error where there is none of that name or it is out of range.
    void set(std::string_view parameter, double value, const std::string& where = "--policy");
    /// The canonical text: what was given, in the order of the policy's list.
    [[nodiscard]] std::string text() const;
    friend bool operator==(const PolicySpec& a, const PolicySpec& b) {
        return a.text() == b.text();
    }

private:
    [[nodiscard]] std::size_t index(std::string_view parameter) const noexcept;
    [[nodiscard]] std::size_t required(std::string_view parameter, const std::string& where) const;

    const PolicyInfo* info_;
    std::vector<std::optional<double>> values_;  ///< by parameter
};

/// Whether a policy decides by itself when to replace: `every`, `delta` or `listed`.
[[nodiscard]] bool has_own_signal(const PolicySpec& spec);
/// The rule to fall back to when no agent decides: the policy with its own signal.
[[nodiscard]] PolicySpec built_in_rule(PolicySpec spec);
/// `window:W` and --window set the same thing: applies the latter to a window policy; a usage
/// Error if it was given another.
void apply_window(PolicySpec& spec, std::uint64_t window, const std::string& where = "--window");

}  // namespace rudder::buffer
