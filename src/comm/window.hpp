// Windows: memory that the ranks of a host share.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace rudder::comm {

/// Zeroed memory of this process alone, in the form of a window.
[[nodiscard]] std::shared_ptr<std::span<std::byte>> private_window(std::size_t bytes);

/// How names of blocks begin.
inline constexpr char window_prefix[] = "/rudder-";

/// Makes a named block of shared memory (POSIX shm), zeroed, and maps it.
[[nodiscard]] std::shared_ptr<std::span<std::byte>> create_shared_window(const std::string& name,
                                                                         std::size_t bytes);
/// Maps a block that another process has made.
[[nodiscard]] std::shared_ptr<std::span<std::byte>> open_shared_window(const std::string& name,
                                                                       std::size_t bytes);
/// Removes its name; those who have mapped it keep it.
void unlink_shared_window(const std::string& name) noexcept;
/// Removes blocks whose makers died before they removed the names. Happens before a process makes
/// its first one.
void sweep_shared_windows(const std::filesystem::path& folder);

}  // namespace rudder::comm
