// An agent that says what a function says.
#pragma once

#include <functional>
#include <utility>

#include "rudder/steer/agent.hpp"

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

}  // namespace rudder::test
