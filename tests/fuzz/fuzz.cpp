// Files and bundles of the fuzzers.
#include "fuzz.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

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

/// A name that stays below its folder.
bool inside(std::string_view name) {
    return !name.empty() && name.size() < 100 && name.front() != '/' &&
           name.find("..") == std::string_view::npos && name.find('\0') == std::string_view::npos;
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
    std::error_code code;
    fs::create_directories(file.parent_path(), code);
    std::ofstream(file, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file;
}

void drop(const std::string& name) {
    std::error_code code;
    fs::remove_all(scratch() / name, code);
}

std::string bytes_of(const fs::path& file) {
    // A made-up name may be that of a folder, which made-up data has in place of a file.
    std::error_code code;
    if (!fs::is_regular_file(file, code)) return {};
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
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
    drop(name);
    fs::create_directories(scratch() / name);
    for (std::size_t at = bytes.find(file_mark); at != std::string_view::npos;) {
        const std::size_t next = bytes.find(file_mark, at + 1);
        const std::string_view one =
            bytes.substr(at + file_mark.size(), next - at - file_mark.size());
        const std::size_t line = std::min(one.find('\n'), one.size());
        const std::string_view file = one.substr(0, line);
        if (inside(file)) {
            put(name + "/" + std::string(file), one.substr(std::min(line + 1, one.size())));
        }
        at = next;
    }
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
    const std::string text = manifest.dump();
    std::ofstream(file, std::ios::binary) << text;
}

}  // namespace rudder::fuzz
