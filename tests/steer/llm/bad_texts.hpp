// What a model may say instead of an action, each with a part of the problem that is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rudder::test {

/// What the model says, and a part of the problem.
struct BadText {
    std::string name;
    std::string reply;
    std::string problem;
};

/// Of a run whose buffer has room for so many rows, and whose policy is `scored`.
[[nodiscard]] std::vector<BadText> bad_texts(std::uint64_t slots = 1200);

/// An object in which objects are nested.
[[nodiscard]] std::string nested(int depth);

}  // namespace rudder::test
