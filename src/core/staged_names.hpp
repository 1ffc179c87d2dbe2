// Hidden names of outputs under construction, and what to do with those that dead processes left.
#pragma once

#include <filesystem>
#include <string>

namespace rudder {

/// What a hidden name holds: an output that is being made, or one that is being replaced.
enum class StagedKind { partial, old };

/// The name beside `output` under which this process keeps such a thing: it says which process of
/// which machine made it.
[[nodiscard]] std::filesystem::path staged_name(const std::filesystem::path& output,
                                                StagedKind kind);

/// Which staged things are garbage.
enum class Garbage {
    of_dead,  ///< those of processes of this machine (and pid namespace) that have ended
    all,      ///< all: whoever asks is the only one who may write in that folder
};

/// Removes garbage in `folder` of the output of that name, or of all outputs (empty). One that was
/// being replaced and has nothing in its place is put back there. What cannot be done is left.
void sweep_staged(const std::filesystem::path& folder, const std::string& output, Garbage garbage);

}  // namespace rudder
