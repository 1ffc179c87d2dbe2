// What a model may say instead of an action, each with a part of the problem that is told.
#pragma once

#include <string>
#include <vector>

namespace rudder::test {

/// What the model says, and a part of the problem.
struct BadText {
    std::string name;
    std::string reply;
    std::string problem;
};

[[nodiscard]] std::vector<BadText> bad_texts();

/// An object in which objects are nested.
[[nodiscard]] std::string nested(int depth);

}  // namespace rudder::test
