// Parts that verbs make themselves of a data set that has none, and find again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "rudder/core/progress.hpp"
#include "rudder/core/types.hpp"

namespace rudder::run {

/// Whether a data set lies there that was not divided into parts.
[[nodiscard]] bool is_whole_dataset(const std::filesystem::path& path);

/// Beside the data set: graph.parts-4.
[[nodiscard]] std::filesystem::path cached_parts(const std::filesystem::path& data, PartId parts);

enum class CacheState : std::uint8_t {
    absent,
    fresh,
    stale  ///< of another state of the data set, or of another version's format
};
/// What lies there; a usage Error where it is something that training did not make.
[[nodiscard]] CacheState cache_state(const std::filesystem::path& data, PartId parts);

/// Divides the data set as `rudder partition` does by default; what is stale is replaced.
void make_cached_parts(const std::filesystem::path& data, PartId parts, Progress& progress);

/// The parts of a data set that has none, found or made, and passed on to the ranks that this
/// process starts; says so. `use` is what they are for: "training on".
[[nodiscard]] std::filesystem::path find_parts(const std::filesystem::path& data, PartId parts,
                                               std::string_view use, Progress& progress);

/// The ranks that this process starts train on those parts (empty: on what they are told): called
/// before they are started.
void pass_parts_on(const std::filesystem::path& parts);
/// In such a rank, what was passed on; else empty.
[[nodiscard]] std::string passed_parts();

}  // namespace rudder::run
