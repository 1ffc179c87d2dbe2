#include "staging.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "rudder/core/error.hpp"

#include "staged_names.hpp"

namespace rudder {

namespace fs = std::filesystem;

namespace {

/// The final path without a trailing slash. One that ends in "." or ".." names a folder that is in
/// use, which must not be replaced.
fs::path normal_output(const fs::path& output) {
    fs::path normal = output.lexically_normal();
    if (!normal.has_filename()) normal = normal.parent_path();
    if (!normal.has_filename() || normal.filename() == "." || normal.filename() == "..") {
        throw usage_error("the output has no name", output.string(), "give a path to create");
    }
    return normal;
}

void refuse_existing(const fs::path& output, Existing existing) {
    std::error_code code;
    const auto status = fs::symlink_status(output, code);
    if (status.type() == fs::file_type::not_found) return;
    if (existing == Existing::replace) return;
    throw usage_error("the output exists already", output.string(),
                      "choose another name, or give --force to replace it");
}

void flush_folder(const fs::path& folder) {
    const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
    if (fd < 0) return;
    ::fsync(fd);
    ::close(fd);
}

/// Makes a folder and those above it, whose names survive a loss of power.
void make_folder(const fs::path& folder) {
    std::error_code code;
    std::vector<fs::path> fresh;
    for (fs::path above = folder.parent_path(); !above.empty() && !fs::is_directory(above, code);
         above = above.parent_path()) {
        fresh.push_back(above);
    }
    fs::create_directories(folder, code);
    if (code) throw system_error("cannot create the folder", folder.string(), code.value());
    for (const fs::path& above : fresh)
        flush_folder(above.parent_path());
}

/// Exchanges two names in one step; false where the file system cannot.
bool exchange(const fs::path& a, const fs::path& b) {
    return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

/// What could not be removed for want of memory is tried once more: the first try has given its own
/// back.
void remove_staged(const fs::path& staged) {
    std::error_code code;
    fs::remove_all(staged, code);
    if (code == std::errc::not_enough_memory) fs::remove_all(staged, code);
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0) {
        throw system_error("cannot move the output into place", to.string(), errno);
    }
}

}  // namespace

Staging::Staging(fs::path output, fs::path staged, Existing existing, bool lasting)
    : output_(std::move(output)),
      staged_(std::move(staged)),
      existing_(existing),
      lasting_(lasting) {}

Staging::Staging(Staging&& other) noexcept
    : output_(std::move(other.output_)),
      staged_(std::exchange(other.staged_, {})),
      existing_(other.existing_),
      lasting_(other.lasting_) {}

Staging Staging::folder(const fs::path& output, Existing existing) {
    const fs::path normal = normal_output(output);
    sweep_staged(normal.parent_path(), normal.filename().string(), Garbage::of_dead);
    refuse_existing(normal, existing);
    // Made before its folder is: whatever fails from then on, that goes with it.
    Staging made(normal, staged_name(normal, StagedKind::partial), existing);
    remove_staged(made.staged_);
    make_folder(made.staged_);
    return made;
}

Staging Staging::lasting_folder(const fs::path& output) {
    const fs::path staged = lasting_path(output);
    make_folder(staged);
    return {normal_output(output), staged, Existing::replace, true};
}

fs::path Staging::lasting_path(const fs::path& output) {
    const fs::path normal = normal_output(output);
    return normal.parent_path() / fmt::format(".{}.partial", normal.filename().string());
}

Staging Staging::file(const fs::path& output, Existing existing) {
    const fs::path normal = normal_output(output);
    sweep_staged(normal.parent_path(), normal.filename().string(), Garbage::of_dead);
    refuse_existing(normal, existing);
    std::error_code code;
    if (fs::is_directory(normal, code)) {
        throw usage_error("the output is to be a file, but the path is a folder", normal.string(),
                          "choose another name");
    }
    const fs::path parent = normal.parent_path();
    if (!parent.empty() && !fs::is_directory(parent, code)) {
        make_folder(parent);
        flush_folder(parent.parent_path());
    }
    return {normal, staged_name(normal, StagedKind::partial), existing};
}

Staging::~Staging() {
    if (!staged_.empty() && !lasting_) remove_staged(staged_);
}

void Staging::discard(const fs::path& output) {
    const fs::path hidden = staged_name(output, StagedKind::partial);
    std::error_code code;
    fs::rename(output, hidden, code);
    if (code) return;
    flush_folder(output.parent_path());
    remove_staged(hidden);
}

void Staging::commit() {
    // Somebody else may have made it meanwhile.
    refuse_existing(output_, existing_);
    std::error_code code;
    const bool is_folder = fs::is_directory(staged_, code);
    if (is_folder) flush_folder(staged_);
    const bool swap =
        is_folder && fs::symlink_status(output_, code).type() != fs::file_type::not_found;
    // A folder cannot be renamed onto a full one. Exchanged in one step the output is never away.
    fs::path old = staged_;
    if (!swap || !exchange(staged_, output_)) {
        old = staged_name(output_, StagedKind::old);
        replace_in_two_steps(old, swap);
    }
    staged_.clear();
    flush_folder(output_.parent_path());
    if (swap) fs::remove_all(old, code);
}

/// By way of the name `old`, where something is in the place.
void Staging::replace_in_two_steps(const fs::path& old, bool in_the_way) const {
    std::error_code code;
    if (in_the_way) {
        fs::remove_all(old, code);
        rename_or_throw(output_, old);
    }
    try {
        rename_or_throw(staged_, output_);
    } catch (...) {
        if (in_the_way) fs::rename(old, output_, code);
        throw;
    }
}

}  // namespace rudder
