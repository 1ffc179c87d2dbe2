// What a program does to the files below a folder, in order: taken down while it does it, to be
// replayed up to any point.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rudder::test {

/// One call that changed a disk, or a mark. Paths are relative to the folder.
struct DiskOp {
    enum class Kind { make_folder, create, write, flush, rename, exchange, remove, mark };
    Kind kind{};
    std::string path;   ///< or what a mark says
    std::string other;  ///< the new name, of a rename
    std::uint64_t offset = 0;
    std::string bytes;
};

/// While one lives, changes below the folder are taken down, whichever thread makes them.
class DiskLog {
public:
    explicit DiskLog(const std::filesystem::path& folder);
    ~DiskLog();
    DiskLog(DiskLog&&) = delete;

    /// What came before this has been promised.
    static void mark(const std::string& text);
    [[nodiscard]] std::vector<DiskOp> ops() const;
};

}  // namespace rudder::test
