#include "run_folder.hpp"

#include <fstream>

#include <fmt/format.h>
#include <sys/file.h>

#include "core/executor/executor.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"

namespace rudder::run {

namespace fs = std::filesystem;

namespace {

/// Whoever reads the folder sees by the lock that it is being written. File systems without locks
/// have none.
File lock(const fs::path& folder) {
    const fs::path path = folder / "metrics.jsonl";
    std::error_code code;
    if (!fs::exists(path, code)) File::create(path).close();
    File file = File::open(path);
    // Who reads the folder looks at the lock for a moment.
    for (int tries = 0; tries < 20; ++tries) {
        if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return file;
        Executor::current().sleep_for(std::chrono::milliseconds(10));
    }
    throw usage_error("another process is writing this run", folder.string(),
                      "wait for its end, or choose another --out");
}

}  // namespace

void RunFolder::check(const fs::path& folder, Existing existing) {
    std::error_code code;
    const auto status = fs::symlink_status(folder, code);
    if (status.type() == fs::file_type::not_found || existing == Existing::replace) return;
    throw usage_error("the output exists already", folder.string(),
                      "choose another name, or give --force to replace it");
}

RunFolder::RunFolder(const fs::path& folder, Existing existing, const std::string& config)
    : folder_(folder) {
    Staging staging = Staging::folder(folder, existing);
    write_text(staging.path() / "config.toml", config);
    staging.commit();
    lock_ = lock(folder_);
}

RunFolder RunFolder::reopen(const fs::path& folder, const std::string& config, std::uint64_t step) {
    RunFolder run;
    run.folder_ = folder;
    std::error_code code;
    fs::create_directories(folder, code);
    run.lock_ = lock(folder);
    fs::remove(folder / "summary.json", code);
    Staging staging = Staging::file(folder / "config.toml", Existing::replace);
    write_text(staging.path(), config);
    staging.commit();
    cut_lines(folder / "decisions.jsonl", step);
    return run;
}

void cut_lines(const fs::path& file, std::uint64_t step) {
    std::error_code code;
    if (!fs::exists(file, code)) return;
    const auto before = [&](const std::string& line) {
        const Json json = Json::parse(line, nullptr, false);
        if (!json.is_object()) return false;
        const auto found = json.find("step");
        return found != json.end() && found->is_number_unsigned() &&
               found->get<std::uint64_t>() < step;
    };
    Staging staging = Staging::file(file, Existing::replace);
    File kept = File::create(staging.path());
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (!before(line)) continue;
        line += '\n';
        kept.write(std::as_bytes(std::span(line)));
    }
    kept.sync_and_close();
    staging.commit();
}

std::optional<std::string> RunFolder::finished(const fs::path& folder) {
    std::error_code code;
    if (!fs::exists(folder / "summary.json", code)) return std::nullopt;
    return read_text(folder / "summary.json", 16U << 20);
}

void RunFolder::finish(const Json& summary) {
    Staging staging = Staging::file(folder_ / "summary.json", Existing::replace);
    write_text(staging.path(), summary.dump(2) + "\n");
    staging.commit();
}

}  // namespace rudder::run
