// What lies at a path, for `rudder info`: data sets, partitions, traces, checkpoints, runs.
#pragma once

#include <filesystem>
#include <optional>

#include "core/json.hpp"

#include "describe.hpp"

namespace rudder::cli {

/// One path looked at: as JSON and as lines.
struct Looked {
    Json json;
    KeyValues lines;
};

/// What a run left at that path (a trace, a checkpoint, a run's folder); nothing if it is none of
/// these. What is damaged is an input Error; `check` verifies also what a run's folder holds.
[[nodiscard]] std::optional<Looked> look_at_run(const std::filesystem::path& path, bool check);

}  // namespace rudder::cli
