#include "rudder/train/run_folder.hpp"

#include <fstream>

#include <fmt/format.h>
#include <sys/file.h>

#include "rudder/core/error.hpp"
#include "rudder/core/json.hpp"

namespace rudder {

namespace fs = std::filesystem;

namespace {

/// Whoever reads the folder sees by the lock that it is being written. File systems without locks
/// have none.
void lock(const File& file) {
    if (::flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    throw usage_error("another process is writing this run", file.path().string(),
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
    metrics_ = File::create(folder_ / "metrics.jsonl");
    lock(*metrics_);
    epochs_ = File::create(folder_ / "epochs.jsonl");
}

void RunFolder::append(std::span<const StepRecord> records) {
    std::string text;
    for (const StepRecord& record : records)
        text += to_json(record).dump() + "\n";
    metrics_->write(std::as_bytes(std::span(text)));
    metrics_bytes_ += text.size();
}

void RunFolder::append_epoch(const Json& line) {
    const std::string text = line.dump() + "\n";
    epochs_->write(std::as_bytes(std::span(text)));
}

void RunFolder::append(std::span<const DecisionLine> lines) {
    if (!decisions_) {
        const fs::path file = folder_ / "decisions.jsonl";
        std::error_code code;
        const auto size = fs::file_size(file, code);  // of a run that goes on
        decisions_ = code ? File::create(file) : File::append(file, size);
    }
    std::string text;
    for (const DecisionLine& line : lines)
        text += line.text + "\n";
    decisions_->write(std::as_bytes(std::span(text)));
}

RunFolder RunFolder::reopen(const fs::path& folder, const std::string& config,
                            std::uint64_t metrics_bytes, std::uint64_t step) {
    RunFolder run;
    run.folder_ = folder;
    std::error_code code;
    fs::create_directories(folder, code);
    if (fs::exists(folder / "metrics.jsonl", code)) lock(File::open(folder / "metrics.jsonl"));
    fs::remove(folder / "summary.json", code);
    Staging staging = Staging::file(folder / "config.toml", Existing::replace);
    write_text(staging.path(), config);
    staging.commit();
    cut_lines(folder / "decisions.jsonl", step);
    run.metrics_ = File::append(folder / "metrics.jsonl", metrics_bytes);
    lock(*run.metrics_);
    run.metrics_bytes_ = metrics_bytes;
    run.epochs_ = File::create(folder / "epochs.jsonl");
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
    metrics_->sync_and_close();
    metrics_.reset();
    epochs_->sync_and_close();
    epochs_.reset();
    if (decisions_) decisions_->sync_and_close();
    decisions_.reset();
    Staging staging = Staging::file(folder_ / "summary.json", Existing::replace);
    write_text(staging.path(), summary.dump(2) + "\n");
    staging.commit();
}

}  // namespace rudder
