#include "rudder/train/run_folder.hpp"

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/json.hpp"

namespace rudder {

namespace fs = std::filesystem;

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
}

void RunFolder::append(std::span<const StepRecord> records) {
    std::string text;
    for (const StepRecord& record : records)
        text += to_json(record).dump() + "\n";
    metrics_->write(std::as_bytes(std::span(text)));
    metrics_bytes_ += text.size();
}

RunFolder RunFolder::reopen(const fs::path& folder, const std::string& config,
                            std::uint64_t metrics_bytes) {
    RunFolder run;
    run.folder_ = folder;
    std::error_code code;
    fs::create_directories(folder, code);
    fs::remove(folder / "summary.json", code);
    Staging staging = Staging::file(folder / "config.toml", Existing::replace);
    write_text(staging.path(), config);
    staging.commit();
    run.metrics_ = File::append(folder / "metrics.jsonl", metrics_bytes);
    run.metrics_bytes_ = metrics_bytes;
    return run;
}

std::optional<std::string> RunFolder::finished(const fs::path& folder) {
    std::error_code code;
    if (!fs::exists(folder / "summary.json", code)) return std::nullopt;
    return read_text(folder / "summary.json", 16U << 20);
}

void RunFolder::finish(const Json& summary) {
    metrics_->sync_and_close();
    metrics_.reset();
    Staging staging = Staging::file(folder_ / "summary.json", Existing::replace);
    write_text(staging.path(), summary.dump(2) + "\n");
    staging.commit();
}

}  // namespace rudder
