// How ranks learn that the launcher which started them is gone: it holds a lock for as long as it
// lives, which the kernel gives back whatever ends it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace rudder::comm {

/// Held by the launcher. A process that is forked must close it or begin another program.
class LauncherLock {
public:
    /// Makes the file, locked from the moment it has its name.
    explicit LauncherLock(const std::filesystem::path& folder);
    ~LauncherLock();
    LauncherLock(LauncherLock&&) = delete;

    /// Names the lock to ranks, in the environment of the present (forked) process.
    void announce() const;

private:
    std::filesystem::path file_;
    int fd_;
};

/// In a rank: once the launcher that started it is gone, calls `gone` on a thread of its own.
/// Nothing where the rank was started by another launcher.
void watch_launcher(std::function<void()> gone);

/// How the names of a launcher's folders begin.
inline constexpr const char* launcher_folder_beginning = "rudder-ranks-";
/// Where Open MPI's segments of shared memory lie. It leaves them behind when its ranks are killed.
inline constexpr const char* segment_variable = "OMPI_MCA_btl_vader_backing_directory";

/// In such a rank: removes the folders of its launcher.
void remove_launcher_folders() noexcept;
/// Removes such folders whose launcher is gone, of this user.
void sweep_launcher_folders(const std::filesystem::path& parent);

}  // namespace rudder::comm
