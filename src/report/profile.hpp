// The profile of an epoch as Chrome trace events, which Perfetto and chrome://tracing open.
#pragma once

#include <filesystem>
#include <string>

#include "core/profile.hpp"

namespace rudder::report {

/// A JSON object with `traceEvents`: a process per rank, a row per thread, a complete event per
/// span, and flows from what fetched rows to the batch that used them. Times are microseconds since
/// the first rank began, on rank 0's clock. `otherData` says what was dropped and how far clocks
/// were apart.
[[nodiscard]] std::string trace_events(const RunProfile& profile);

/// Writes that file in one piece; what stood there is replaced. An Error if it cannot be written.
void write_profile(const RunProfile& profile, const std::filesystem::path& file);

}  // namespace rudder::report
