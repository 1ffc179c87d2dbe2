// What a call is refused with, for tests that hold messages to the letter.
#pragma once

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "rudder/core/error.hpp"

namespace rudder::test {

struct Refusal {
    ErrorKind kind = ErrorKind::failed;
    std::string problem;
    std::string where;
    std::string remedy;
};

/// Calls `body`, which must throw an Error with a remedy.
template <class Body>
Refusal refusal_of(Body&& body) {
    try {
        std::forward<Body>(body)();
    } catch (const Error& error) {
        EXPECT_FALSE(error.remedy().empty()) << error.what();
        return {error.kind(), error.problem(), error.where(), error.remedy()};
    }
    ADD_FAILURE() << "not refused";
    return {};
}

}  // namespace rudder::test
