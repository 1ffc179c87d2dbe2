// An agent that says what a function says.
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/executor/executor.hpp"
#include "rudder/steer/agent_registry.hpp"

namespace rudder::test {

class Scripted final : public steer::Agent {
public:
    using Script = std::function<steer::Answer(const steer::Observation&)>;
    explicit Scripted(Script script) : script_(std::move(script)) {}
    steer::Answer decide(const steer::Observation& observation) override {
        return script_(observation);
    }

private:
    Script script_;
};

/// An answer that is an action and nothing else.
inline steer::Answer answer(steer::Action action) {
    steer::Answer given;
    given.action = std::move(action);
    return given;
}

inline Scripted::Script& script() {
    static Scripted::Script one;
    return one;
}

inline steer::AgentInfo scripted_info(const char* name, bool decides, bool fixed) {
    return {{name, "Says what a test wants."}, "nothing", "nothing", decides, fixed};
}

/// The name of an agent that says what the script says, until the next call: `scripted` is a rule
/// of the user, which the guard does not overrule; `scripted-knobs` likewise, but it does not say
/// when to replace; `scripted-free` is one that the guard may overrule.
inline std::string scripted(const std::string& name, Scripted::Script says) {
    static const steer::AgentInfo rule = scripted_info("scripted", true, true);
    static const steer::AgentInfo knobs = scripted_info("scripted-knobs", false, true);
    static const steer::AgentInfo free = scripted_info("scripted-free", true, false);
    static const bool once = [] {
        for (const steer::AgentInfo* info : {&rule, &knobs, &free}) {
            steer::register_agent(*info,
                                  [](const steer::AgentSpec&,
                                     const steer::AgentFacts&) -> std::unique_ptr<steer::Agent> {
                                      return std::make_unique<Scripted>(script());
                                  });
        }
        return true;
    }();
    static_cast<void>(once);
    script() = std::move(says);
    return name;
}

/// A way for an agent to be at fault.
struct Fault {
    const char* name;
    Scripted::Script script;
};

inline std::vector<Fault> faults() {
    using namespace std::chrono_literals;
    return {
        {"never answers",
         [](const steer::Observation&) -> steer::Answer {
             for (;;)
                 Executor::current().sleep_until(Executor::current().now() + 1h);
         }},
        {"answers after a minute",
         [](const steer::Observation&) {
             Executor::current().sleep_until(Executor::current().now() + 1min);
             return answer(steer::Action::replace(steer::Reason::none));
         }},
        {"throws",
         [](const steer::Observation&) -> steer::Answer { throw std::runtime_error("no idea"); }},
        {"talks nonsense",
         [](const steer::Observation& seen) {
             if (seen.step % 3 == 0)
                 return answer(
                     steer::Action::set({{steer::KnobId::policy, "widow"}}, steer::Reason::none));
             if (seen.step % 3 == 1)
                 return answer(
                     steer::Action::set({{steer::KnobId::capacity, -5.0}}, steer::Reason::none));
             return answer(steer::Action::replace(steer::Reason::none, 7));
         }},
        {"wants all at once", [](const steer::Observation& seen) {
             steer::Answer given =
                 answer(steer::Action::set({{steer::KnobId::policy, seen.setting.policy.text()},
                                            {steer::KnobId::capacity, 0.0}},
                                           steer::Reason::none));
             for (int i = 0; i < 20; ++i) {
                 given.shadows.push_back(
                     {steer::ShadowOrder::Kind::open, "s" + std::to_string(i), seen.setting, 1});
             }
             return given;
         }}};
}

}  // namespace rudder::test
