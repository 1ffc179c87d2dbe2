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
}

void RunFolder::finish(const Json& summary) {
    metrics_->sync_and_close();
    metrics_.reset();
    Staging staging = Staging::file(folder_ / "summary.json", Existing::replace);
    write_text(staging.path(), summary.dump(2) + "\n");
    staging.commit();
}

}  // namespace rudder
