#include "rudder/cli/run_recorder.hpp"

#include "rudder/core/error.hpp"
#include "rudder/core/json.hpp"
#include "rudder/train/summary.hpp"

namespace rudder::cli {

RunRecorder::RunRecorder(RunFolder folder, const Json& facts, bool regression)
    : folder_(std::move(folder)),
      card_(folder_.path(), facts),
      words_([this](const std::string& reason) { card_.end("failed", reason); }),
      regression_(regression) {}

void RunRecorder::told(std::span<const EpochRecord> epochs) {
    for (const EpochRecord& epoch : epochs)
        folder_.append_epoch(epoch_json(epoch, regression_));
}

void RunRecorder::epoch_done(const EpochRecord& record, std::uint32_t /*epochs*/) {
    folder_.append_epoch(epoch_json(record, regression_));
}

void RunRecorder::finish(const Json& summary) {
    folder_.finish(summary);
    card_.end("finished");
}

void RunRecorder::fail(const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    const bool interrupted = known != nullptr && known->kind() == ErrorKind::interrupted;
    card_.end(interrupted ? "interrupted" : "failed", error.what());
}

}  // namespace rudder::cli
