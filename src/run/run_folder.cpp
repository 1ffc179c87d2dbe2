#include "run_folder.hpp"

#include <algorithm>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <sys/file.h>

#include "core/executor/executor.hpp"
#include "core/json.hpp"
#include "core/staged_names.hpp"
#include "rudder/core/error.hpp"

namespace rudder::run {

namespace fs = std::filesystem;

namespace {

/// Whoever reads the folder sees by the lock that it is being written. File systems without locks
/// have none.
RunLock lock_metrics(const fs::path& folder, const fs::path& shown) {
    // Opened for writing: some file systems lock nothing else.
    File file = File::append(folder / "metrics.jsonl", std::numeric_limits<std::uint64_t>::max());
    // Who reads the folder looks at the lock for a moment.
    for (int tries = 0; tries < 20; ++tries) {
        if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0) return {std::move(file), true};
        if (errno != EWOULDBLOCK) return {std::move(file), false};
        Executor::current().sleep_for(std::chrono::milliseconds(10));
    }
    throw usage_error("another process is writing this run", shown.string(),
                      "wait for its end, or choose another --out");
}

/// The lock of the run that lies there, if one does: nobody goes on with it meanwhile.
std::optional<RunLock> lock_present(const fs::path& folder) {
    std::error_code code;
    if (!fs::is_regular_file(folder / "metrics.jsonl", code)) return std::nullopt;
    return lock_metrics(folder, folder);
}

}  // namespace

void RunFolder::check(const fs::path& folder, Existing existing) {
    std::error_code code;
    const auto status = fs::symlink_status(folder, code);
    if (status.type() == fs::file_type::not_found) return;
    if (existing == Existing::replace) {
        static_cast<void>(lock_present(folder));
        return;
    }
    throw usage_error("the output exists already", folder.string(),
                      "choose another name, or give --force to replace it");
}

RunFolder::RunFolder(const fs::path& folder, Existing existing, const std::string& config)
    : folder_(folder) {
    std::optional<RunLock> before;
    if (existing == Existing::replace) before = lock_present(folder);
    Staging staging = Staging::folder(folder, existing);
    write_text(staging.path() / "config.toml", config);
    // It is locked from the moment on that others see it.
    lock_ = lock_metrics(staging.path(), folder);
    staging.commit();
}

RunFolder RunFolder::reopen(const fs::path& folder, const std::string& config, std::uint64_t step,
                            std::span<const std::string> open_decisions) {
    RunFolder run;
    run.folder_ = folder;
    std::error_code code;
    fs::create_directories(folder, code);
    check_files_inside(folder);  // which are written on
    run.lock_ = lock_metrics(folder, folder);
    sweep_staged(folder, "", Garbage::of_dead);
    // Who has the lock is the only one to write checkpoints, on whatever machine the last one was.
    sweep_staged(folder / "checkpoints", "", run.lock_->held ? Garbage::all : Garbage::of_dead);
    fs::remove(folder / "summary.json", code);
    Staging staging = Staging::file(folder / "config.toml", Existing::replace);
    write_text(staging.path(), config);
    staging.commit();
    cut_lines(folder / "decisions.jsonl", step, open_decisions);
    return run;
}

namespace {

/// A line of a step, and whose it is.
struct StepLine {
    std::uint64_t step;
    Json rank;
    std::string text;
};

/// None: something else, or cut short.
std::optional<StepLine> parse_line(const std::string& line) {
    const Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    const auto found = json.find("step");
    if (found == json.end() || !found->is_number_unsigned()) return std::nullopt;
    return StepLine{found->get<std::uint64_t>(), json.value("rank", Json()), line};
}

/// Adds those of `more` that are not there, where they belong.
void add_missing(std::vector<StepLine>& lines, std::span<const std::string> more) {
    const std::size_t there = lines.size();
    for (const std::string& text : more) {
        const auto line = parse_line(text);
        const auto same = [&](const StepLine& one) {
            return one.step == line->step && one.rank == line->rank;
        };
        if (line && std::none_of(lines.begin(), lines.end(), same)) lines.push_back(*line);
    }
    if (lines.size() > there) std::ranges::stable_sort(lines, {}, &StepLine::step);
}

}  // namespace

void cut_lines(const fs::path& file, std::uint64_t step, std::span<const std::string> more) {
    std::error_code code;
    if (!fs::exists(file, code) && more.empty()) return;
    std::vector<StepLine> lines;
    std::ifstream in(file);
    for (std::string text; std::getline(in, text);) {
        auto line = parse_line(text);
        if (line && line->step < step) lines.push_back(std::move(*line));
    }
    add_missing(lines, more);
    Staging staging = Staging::file(file, Existing::replace);
    File kept = File::create(staging.path());
    for (StepLine& line : lines) {
        line.text += '\n';
        kept.write(std::as_bytes(std::span(line.text)));
    }
    kept.sync_and_close();
    staging.commit();
}

std::optional<std::string> RunFolder::finished(const fs::path& folder) {
    std::error_code code;
    if (!fs::exists(folder / "summary.json", code)) return std::nullopt;
    return read_text(folder / "summary.json", 16U << 20);
}

void RunFolder::expect_there() const {
    std::error_code code;
    if (fs::exists(folder_ / "metrics.jsonl", code)) return;
    throw Error(ErrorKind::failed, "the folder of the run was removed while it was being written",
                folder_.string(),
                "train again, and leave the folder alone until the run has ended");
}

void RunFolder::finish(const Json& summary) {
    expect_there();
    Staging staging = Staging::file(folder_ / "summary.json", Existing::replace);
    write_text(staging.path(), summary.dump(2) + "\n");
    staging.commit();
}

}  // namespace rudder::run
