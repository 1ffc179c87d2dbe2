// An agent: looks at observations and says what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/fields.hpp"
#include "rudder/steer/observation.hpp"

namespace rudder::steer {

/// What an agent wants of the buffers that run beside the real one, on a sample of the ids. An
/// order takes effect at the step at which the answer's action does.
struct ShadowOrder {
    enum class Kind : std::uint8_t {
        open,     ///< starts one with that setting, empty; a known name is started anew
        copy,     ///< starts one as the twin (or `from`) is, and then sets it
        set,      ///< changes its setting
        replace,  ///< tells it to replace in the step
        close
    };
    Kind kind;
    std::string name;
    std::optional<Setting> setting{};  ///< with open, copy and set
    double fraction = 1;               ///< with replace
    std::string from{};                ///< with copy: another of the agent's; empty: the twin
    /// With open and copy: it may be so many steps ahead of the run, as far as all that are ahead
    /// see what they look ahead for.
    std::uint64_t ahead = 0;
};

/// What the agent expects of its action: +1 rises, 0 stays, -1 falls.
struct Forecast {
    int hit_rate = 0;
    int rows = 0;  ///< fetched

    static constexpr auto fields = unnamed_fields(&Forecast::hit_rate, &Forecast::rows);
};
static_assert(lists_all_fields<Forecast>);

struct Answer {
    Action action{};
    std::vector<ShadowOrder> shadows{};
    std::optional<Forecast> forecast{};
    std::string note{};  ///< for the log: what was tried, what was learned
    /// Asks for the turn to try something on the clock, or keeps it (Observation::clock_turn).
    bool wants_clock = false;
};

/// Asked on a task of its own, one question at a time; may take as long as it likes, since nobody
/// waits. What it throws (an Error) counts as a failure, with its text in the log.
class Agent {
public:
    virtual ~Agent() = default;
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;

    /// Steps between two observations, at least 1; looked at before each step, by another task.
    [[nodiscard]] virtual std::uint64_t interval() const noexcept { return 1; }
    [[nodiscard]] virtual Answer decide(const Observation& observation) = 0;
    /// Called from another task: whatever `decide` waits for is wanted no more.
    virtual void cancel() noexcept {}
    /// What it learned, in a few lines; empty: nothing to say. At the end.
    [[nodiscard]] virtual std::string learned() const { return {}; }

protected:
    Agent() = default;
};

}  // namespace rudder::steer
