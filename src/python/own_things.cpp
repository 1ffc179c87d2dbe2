#include "own_things.hpp"

#include <algorithm>
#include <deque>
#include <limits>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"

namespace rudder::python {

namespace {

std::deque<KeptThing>& kept_things() {
    static auto* const things = new std::deque<KeptThing>;  // specs show it as long as they live
    return *things;
}

bool writable(std::string_view name) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    return !name.empty() && name.find_first_not_of(letters) == std::string_view::npos;
}

}  // namespace

const KeptThing& keep(const OwnThing& thing, bool taken) {
    const auto refuse = [](const std::string& name) {
        if (writable(name)) return;
        throw usage_error(fmt::format("invalid name: '{}'", name), "register",
                          "use small letters, digits, - and _");
    };
    refuse(thing.name);
    for (const OwnParameter& parameter : thing.parameters)
        refuse(parameter.name);
    if (taken) {
        throw usage_error(fmt::format("the name '{}' is taken", thing.name), "register",
                          "choose another one");
    }
    KeptThing& kept = kept_things().emplace_back(KeptThing{.thing = thing, .parameters = {}});
    constexpr double most = 1e15;
    for (const OwnParameter& parameter : kept.thing.parameters) {
        kept.parameters.push_back(
            {.name = parameter.name,
             .kind = parameter.whole ? ParameterKind::whole : ParameterKind::real,
             .minimum = parameter.whole ? 0 : -most,
             .maximum = most,
             .fallback = parameter.fallback,
             .help = parameter.name});
    }
    return kept;
}

const KeptThing& kept(std::string_view name) {
    const auto found =
        std::ranges::find(kept_things(), name,
                          [](const KeptThing& one) -> std::string_view { return one.thing.name; });
    RUDDER_CHECK(found != kept_things().end());
    return *found;
}

Json values_of(const KeptThing& kept, const Spec& spec) {
    Json values = Json::object();
    for (const OwnParameter& parameter : kept.thing.parameters) {
        if (parameter.whole) {
            values[parameter.name] = spec.whole(parameter.name);
        } else {
            values[parameter.name] = spec.number(parameter.name);
        }
    }
    return values;
}

}  // namespace rudder::python
