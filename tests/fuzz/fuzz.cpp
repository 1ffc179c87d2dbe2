// Files and bundles of the fuzzers.
#include "fuzz.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/json.hpp"
#include "core/log.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::fuzz {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view file_mark = "\n@@@";

/// Made when first asked for, removed at the end.
struct Scratch {
    fs::path path;
    Scratch() {
        const fs::path memory = "/dev/shm";
        const fs::path base = fs::is_directory(memory) ? memory : fs::temp_directory_path();
        std::string name = (base / "rudder-fuzz-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) std::abort();
        path = name;
    }
    ~Scratch() {
        std::error_code code;
        fs::remove_all(path, code);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
};

/// A name that stays below its folder, in the one way it can be written.
bool inside(std::string_view name) {
    return !name.empty() && name.size() < 100 && name.front() != '/' &&
           name.find("..") == std::string_view::npos && name.find('\0') == std::string_view::npos &&
           fs::path(name).lexically_normal().native() == name;
}

/// What each file of the scratch folder holds that `put` wrote and `drop` has not removed. Readers
/// change none of them: they are written again only where their content is to be another.
std::map<std::string, std::string>& files_put() {
    static std::map<std::string, std::string> files;
    return files;
}

bool put_before(const std::string& name) {
    return files_put().contains(name);
}

/// Whether a name is that of a file or folder, or below it.
bool lies_in(std::string_view name, std::string_view above) {
    return name.starts_with(above) && (name.size() == above.size() || name[above.size()] == '/');
}

bool overwrite(const fs::path& file, std::string_view bytes) {
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    constexpr mode_t mode = 0644;
    int out = ::open(file.c_str(), flags, mode);
    if (out < 0) {
        std::error_code code;
        fs::create_directories(file.parent_path(), code);
        out = ::open(file.c_str(), flags, mode);
    }
    if (out < 0) return false;
    const ssize_t written = ::write(out, bytes.data(), bytes.size());
    ::close(out);
    FUZZ_EXPECT(written == static_cast<ssize_t>(bytes.size()));
    return true;
}

}  // namespace

void run_once(std::string_view bytes) {
    static const bool ready = [] {
        set_thread_count(1);
        log::set_level(log::Level::error);
        return true;
    }();
    static_cast<void>(ready);
    try {
        check(bytes);
    } catch (const Error& error) {
        FUZZ_EXPECT(!error.problem().empty());
    }
}

void fail(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    std::abort();
}

const fs::path& scratch() {
    static const Scratch folder;
    return folder.path;
}

fs::path put(const std::string& name, std::string_view bytes) {
    fs::path file = scratch() / name;
    const auto known = files_put().find(name);
    if (known != files_put().end() && known->second == bytes) return file;
    if (overwrite(file, bytes)) {
        files_put().insert_or_assign(name, std::string(bytes));
    } else {
        files_put().erase(name);
    }
    return file;
}

void drop(const std::string& name) {
    std::error_code code;
    fs::remove_all(scratch() / name, code);
    std::erase_if(files_put(), [&](const auto& file) { return lies_in(file.first, name); });
}

std::string bytes_of(const fs::path& file) {
    // A made-up name may be that of a folder, which made-up data has in place of a file.
    const int in = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (in < 0 || ::fstat(in, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        if (in >= 0) ::close(in);
        return {};
    }
    std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
    const ssize_t got = ::pread(in, bytes.data(), bytes.size(), 0);
    ::close(in);
    FUZZ_EXPECT(got == facts.st_size);
    return bytes;
}

std::string bundle(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::string all;
    for (const fs::path& file : files) {
        const std::string bytes = bytes_of(file);
        FUZZ_EXPECT(bytes.find(file_mark) == std::string::npos);
        all += std::string(file_mark) + file.lexically_relative(folder).string() + "\n" + bytes;
    }
    return all;
}

fs::path unbundle(std::string_view bytes, const std::string& name) {
    std::map<std::string, std::string_view> files;
    for (std::size_t at = bytes.find(file_mark); at != std::string_view::npos;) {
        const std::size_t next = bytes.find(file_mark, at + 1);
        const std::string_view one =
            bytes.substr(at + file_mark.size(), next - at - file_mark.size());
        const std::size_t line = std::min(one.find('\n'), one.size());
        const std::string_view file = one.substr(0, line);
        if (inside(file)) {
            files[name + "/" + std::string(file)] = one.substr(std::min(line + 1, one.size()));
        }
        at = next;
    }
    // Most inputs differ from the one before in what one file holds, and in that alone.
    const bool same_names =
        std::ranges::all_of(files, [](const auto& file) { return put_before(file.first); }) &&
        files.size() ==
            static_cast<std::size_t>(std::ranges::count_if(
                files_put(), [&](const auto& file) { return lies_in(file.first, name); }));
    if (!same_names || files.empty()) {
        drop(name);
        fs::create_directories(scratch() / name);
    }
    for (const auto& [file, content] : files)
        put(file, content);
    return scratch() / name;
}

void seal_arrays(const fs::path& folder) {
    const fs::path file = folder / "manifest.json";
    Json manifest;
    try {
        manifest = parse_json(bytes_of(file), "manifest");
    } catch (const Error&) {
        return;
    }
    if (!manifest.is_object() || !manifest.contains("arrays")) return;
    for (Json& entry : manifest["arrays"]) {
        if (!entry.is_object() || !entry.contains("file") || !entry["file"].is_string()) continue;
        const auto name = entry["file"].get<std::string>();
        if (!inside(name)) continue;
        const std::string array = bytes_of(folder / name);
        entry["checksum"] = to_hex(array_checksum(std::as_bytes(std::span(array))));
    }
    put(file.lexically_relative(scratch()).string(), manifest.dump());
}

}  // namespace rudder::fuzz
