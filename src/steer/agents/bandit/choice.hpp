// What the bandit chooses among, and in which order it tries.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rudder/steer/agent_spec.hpp"

namespace rudder::steer {

/// A setting, and when to replace where the agent says so.
struct Choice {
    Setting setting;
    bool decides = false;     ///< the policy is told when to replace
    std::uint64_t every = 0;  ///< in every so many steps; 0: never

    /// The setting with which a shadow does the same without being told.
    [[nodiscard]] Setting of_shadow() const;
    /// What tells it from others; equal choices have equal keys.
    [[nodiscard]] std::string key() const;
    /// Whether it is to replace in that step.
    [[nodiscard]] bool replaces(std::uint64_t step) const noexcept {
        return decides && every != 0 && (step + 1) % every == 0;
    }
    friend bool operator==(const Choice& a, const Choice& b) { return a.key() == b.key(); }
};

/// What would change, for people: "window 64", "policy lru", "every:8".
[[nodiscard]] std::string difference_text(const Choice& from, const Choice& to);

/// Which choices there are beside one, best guesses first.
class Choices {
public:
    /// Reads `knobs` and `policies` of a bandit; a usage Error lists what is known.
    explicit Choices(const AgentSpec& spec);

    [[nodiscard]] bool has(KnobId id) const noexcept {
        return knobs_[static_cast<std::size_t>(id)];
    }
    [[nodiscard]] bool decides() const noexcept { return decides_; }
    /// Those that differ in what concerns ids: shadows can judge them.
    [[nodiscard]] std::vector<Choice> on_ids(const Choice& now, const KnobLimits& limits) const;
    /// Those that differ in what concerns time: neighbours by one knob; boldly: those further away
    /// first.
    [[nodiscard]] std::vector<Choice> on_time(const Choice& now, const KnobLimits& limits,
                                              bool boldly) const;

private:
    void add_policies(std::vector<Choice>& list, const Choice& now) const;
    void add_windows(std::vector<Choice>& list, const Choice& now) const;
    void add_decays(std::vector<Choice>& list, const Choice& now) const;
    void add_signals(std::vector<Choice>& list, const Choice& now) const;

    std::array<bool, knob_count> knobs_{};
    bool decides_ = false;
    std::vector<buffer::PolicySpec> policies_;
};

/// The words of a list joined by '+', or by '/' where '+' joins the members of a mixture.
[[nodiscard]] std::vector<std::string_view> listed_words(std::string_view text);

}  // namespace rudder::steer
