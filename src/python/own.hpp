// Agents and policies that are written in Python, known to the engine by name like its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rudder::python {

/// A number that is written NAME,KEY:VALUE.
struct OwnParameter {
    std::string name;
    double fallback = 0;
    bool whole = false;
};

struct OwnThing {
    std::string name;
    std::string sentence;  ///< what it does
    std::vector<OwnParameter> parameters;
    std::uint64_t interval = 1;  ///< of agents: steps between two questions
    bool decides = false;        ///< of agents: says when to replace
};

/// From then on agents and policies of that name ask Questions. A name that is taken, or that
/// cannot be written, is a usage Error. Not while anything else of the engine runs.
void register_agent(const OwnThing& agent);
void register_policy(const OwnThing& policy);

}  // namespace rudder::python
