// The shadows of a helm: the twin, the built-in rule beside it, what is judged, and an agent's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "helm.hpp"
#include "judge.hpp"
#include "shadows.hpp"

namespace rudder::steer {

/// Rows of one step.
struct ShadowRows {
    double twin = 0;
    double built_in = 0;
    bool apart = false;  ///< they are two shadows by now
};

class HelmShadows {
public:
    /// `now` is how the real buffer is set, `fallback` how the built-in rule is; `scan` publishes
    /// steps to them.
    HelmShadows(const HelmOptions& options, const buffer::PolicyFacts& facts, buffer::SlotId slots,
                std::uint64_t first_step, const Setting& now, const Setting& fallback,
                buffer::ShadowScan& scan);

    /// Adds the CPU time (nanoseconds) of the agent's own to a sum, which must outlive it.
    void meter(std::atomic<std::uint64_t>& cpu) { shadows_.meter(cpu); }
    [[nodiscard]] std::uint64_t horizon() const { return shadows_.horizon(); }

    /// The real buffer is told to replace in the coming step, or not to. True if that is judged
    /// under the given number.
    bool decide(std::optional<std::uint64_t> number, const buffer::Decision& taken);
    /// The real buffer is about to be set; before `set`. True if that is judged.
    bool change(std::optional<std::uint64_t> number, const Setting& next);
    void set(const Setting& setting) { shadows_.set(*twin_, setting); }
    /// The built-in rule has taken over the real buffer, with what it held.
    void go_back();
    /// The real buffer has less room: it is set like this, the built-in rule like that.
    void limit(const Setting& now, const Setting& fallback);
    /// What an agent wants of its own shadows. A usage Error where that cannot be.
    void follow(const ShadowOrder& order);

    /// All take the next step; the counts are the real buffer's in it.
    ShadowRows advance(const Rows& real, double stall_seconds);
    [[nodiscard]] std::vector<Judge::Verdict> verdicts() { return judge_.take(); }
    /// What an observation shows of them, since it did so last.
    void show(Observation& seen);

private:
    void follow_anew(const ShadowOrder& order);
    [[nodiscard]] ShadowReading reading(Shadow& shadow) const;
    /// The built-in rule runs beside the twin from the moment they may differ.
    void fork_built_in();

    Shadows shadows_;
    Judge judge_;
    Setting fallback_;
    Shadow* twin_;
    Shadow* built_in_ = nullptr;  ///< null as long as the twin does the same
};

}  // namespace rudder::steer
