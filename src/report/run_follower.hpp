// Follows a run by its folder alone, from any process that can read it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "standing.hpp"

namespace rudder::report {

/// Reads what has come since the last look; of long files only the end. What is absent, cut or
/// damaged is left out.
class RunFollower {
public:
    /// An input Error if this is not the folder of a run.
    explicit RunFollower(const std::filesystem::path& folder);
    ~RunFollower();
    RunFollower(RunFollower&&) = delete;

    [[nodiscard]] Standing look();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace rudder::report
