// What is kept of agents and policies written in Python, as long as the process lives.
#pragma once

#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "rudder/core/spec.hpp"

#include "own.hpp"

namespace rudder::python {

/// With the description that specs show, which must not move.
struct KeptThing {
    OwnThing thing;
    std::vector<SpecParameter> parameters;

    [[nodiscard]] SpecInfo info() const {
        return {.name = thing.name, .sentence = thing.sentence, .parameters = parameters};
    }
};

/// Refuses (usage Error) what cannot be written as name,key:value, and `taken` names; keeps the
/// rest for good.
[[nodiscard]] const KeptThing& keep(const OwnThing& thing, bool taken);
/// The one of that name, which was kept.
[[nodiscard]] const KeptThing& kept(std::string_view name);

/// The parameters' values.
[[nodiscard]] Json values_of(const KeptThing& kept, const Spec& spec);

}  // namespace rudder::python
