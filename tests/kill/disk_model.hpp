// A disk whose power fails: what was flushed is there, the rest may be, in part.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "disk_log.hpp"

namespace rudder::test {

/// What becomes of changes that were not flushed. Names in a folder change in order (as with a
/// journal), each folder by itself; bytes of a file are written in order.
enum class Unflushed {
    there,   ///< all of them: only the program ended
    lost,    ///< none
    names,   ///< names are there, bytes are not: files are empty
    zeros,   ///< names and sizes are there; bytes read as zero
    bytes,   ///< bytes are there, names are not
    random,  ///< some, drawn anew for every folder and file
};

/// A folder as operations left it. Only what POSIX promises is taken for flushed: a file's bytes by
/// fsync of the file, its name by fsync of the folder that holds it.
class DiskModel {
public:
    explicit DiskModel(std::span<const DiskOp> ops);

    /// Writes what is left after the power has failed to an empty folder. The seed is for `random`.
    void write(const std::filesystem::path& folder, Unflushed unflushed, std::uint64_t seed) const;

private:
    using Names = std::map<std::string, int>;
    /// Names that change in one step; none: it goes.
    using Change = std::vector<std::pair<std::string, std::optional<int>>>;
    struct Node {
        bool is_folder = false;
        Names names, flushed_names;   ///< of a folder
        std::vector<Change> changes;  ///< since it was flushed
        std::string bytes, flushed_bytes;
        std::vector<std::pair<std::uint64_t, std::string>> writes;  ///< since it was flushed
    };
    struct Place {
        int folder;
        std::string name;
    };

    [[nodiscard]] Place place(const std::string& path) const;
    [[nodiscard]] int at(const std::string& path) const;
    int make(bool is_folder);
    void change(int folder, Change change);
    void apply(const DiskOp& op);
    void move(const DiskOp& op);

    std::vector<Node> nodes_;  ///< the first is the folder itself
};

}  // namespace rudder::test
