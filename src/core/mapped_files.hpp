// Files that are mapped: one that is cut short while it is read ends in an error with its name.
// name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "rudder/core/error.hpp"

namespace rudder {

/// Remembers that these pages are of that file; forgets it.
void note_mapping(const std::byte* begin, std::size_t bytes, const std::filesystem::path& path);
void forget_mapping(const std::byte* begin) noexcept;

/// Makes SIGBUS on pages of a mapped file an input Error's message on standard error and exit code
/// 3. Any other SIGBUS does what it always did.
void install_lost_file_handler();

/// While one lives, its function is called instead, on a thread of its own, with the error; it must
/// end the process. The thread that read the file never goes on. If it takes too long (what it
/// needs may be held by that thread) the process ends without it. One at a time.
class LostFileWatch {
public:
    explicit LostFileWatch(std::function<void(const Error& error)> end);
    ~LostFileWatch();
    LostFileWatch(LostFileWatch&&) = delete;

private:
    std::thread thread_;
};

}  // namespace rudder
