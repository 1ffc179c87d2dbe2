// An agent that says what a function says.
#pragma once

#include <functional>
#include <utility>

#include "rudder/steer/agent.hpp"

namespace rudder::test {

class Scripted final : public Agent {
public:
    using Script = std::function<Answer(const Observation&)>;
    explicit Scripted(Script script) : script_(std::move(script)) {}
    Answer decide(const Observation& observation) override { return script_(observation); }

private:
    Script script_;
};

/// An answer that is an action and nothing else.
inline Answer answer(Action action) {
    Answer given;
    given.action = std::move(action);
    return given;
}

}  // namespace rudder::test
