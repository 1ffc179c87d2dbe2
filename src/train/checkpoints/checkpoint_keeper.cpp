#include "checkpoint_keeper.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/span.hpp"
#include "core/staging.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::train {

namespace fs = std::filesystem;

CheckpointRhythm CheckpointRhythm::parse(const std::string& text) {
    if (!text.empty() && text.back() == 's') {
        const auto seconds = parse_double(std::string_view(text).substr(0, text.size() - 1));
        if (seconds && *seconds > 0) return {.epochs = 0, .seconds = *seconds};
    } else if (const auto epochs = parse_u64(text); epochs && *epochs <= 1'000'000'000) {
        return {.epochs = static_cast<std::uint32_t>(*epochs), .seconds = 0};
    }
    throw usage_error(fmt::format("invalid checkpoint-every: '{}'", text), "checkpoint-every",
                      "give a number of epochs, such as 1 (0: never), or seconds, such as 300s");
}

CheckpointKeeper::CheckpointKeeper(fs::path run, std::size_t keep)
    : run_(std::move(run)), keep_(keep) {
    std::error_code code;
    in_folder_ = fs::exists(run_ / "metrics.jsonl", code);
}

CheckpointKeeper::~CheckpointKeeper() {
    writing_.settle();
}

void CheckpointKeeper::wait() {
    if (writing_.valid()) writing_.finish();
}

Checkpoint CheckpointKeeper::take() {
    wait();
    return std::exchange(memory_, Checkpoint());
}

void CheckpointKeeper::keep(Checkpoint memory) {
    wait();
    memory_ = std::move(memory);
}

void CheckpointKeeper::write(Checkpoint checkpoint) {
    keep(std::move(checkpoint));
    writing_ = Executor::current().spawn("checkpoint", [this] {
        put_away("checkpoint", memory_.state.step, [this] {
            write_checkpoint(run_, memory_);
            ++report_.written;
            remove_old();
        });
    });
}

bool CheckpointKeeper::best(std::uint64_t step) {
    wait();
    const auto folder = checkpoint_folder(run_, step);
    std::error_code code;
    if (!fs::exists(folder, code)) return false;
    put_away("best.json", step, [&] { mark_best(run_, folder); });
    return true;
}

void CheckpointKeeper::write_best(Checkpoint checkpoint) {
    wait();
    best_ = std::move(checkpoint);
    writing_ = Executor::current().spawn("best weights", [this] {
        put_away("best weights", best_.state.step, [this] {
            mark_best(run_, train::write_best(run_, best_));
            remove_old();
        });
        best_ = Checkpoint();
    });
}

/// What cannot be written costs itself, not the run.
void CheckpointKeeper::put_away(std::string_view what, std::uint64_t step,
                                FunctionRef<void()> write) {
    const Span span("writing a checkpoint");
    try {
        std::error_code code;
        if (in_folder_ && !fs::exists(run_ / "metrics.jsonl", code)) {
            throw Error(ErrorKind::failed, "the folder of the run was removed", run_.string(),
                        "leave it alone until the run has ended");
        }
        write();
    } catch (const Error& error) {
        ++report_.failed;
        report_.error = error.what();
        if (std::exchange(warned_, true)) return;
        log::lasting_warning(
            fmt::format("no {} at step {}: {}; training continues, the last good "
                        "one stays",
                        what, step, error.what()));
    }
}

/// The last few stay, the best, and the best that the last one knows of: whoever goes on from it
/// may find no better.
void CheckpointKeeper::remove_old() const {
    const auto all = list_checkpoints(run_);
    std::vector<fs::path> kept;
    if (const auto best = best_checkpoint(run_)) kept.push_back(*best);
    for (std::size_t i = all.size() - std::min(all.size(), keep_); i < all.size(); ++i)
        kept.push_back(all[i]);
    try {
        const auto step = all.empty() ? std::nullopt : best_step(read_run_state(all.back()));
        kept.push_back(checkpoint_folder(run_, step.value_or(0)));
        kept.push_back(best_folder(run_, step.value_or(0)));
    } catch (const Error&) {
        return;  // where it cannot be told, nothing is removed
    }
    for (const auto& list : {all, list_best(run_)}) {
        for (const fs::path& folder : list) {
            if (std::ranges::find(kept, folder) == kept.end()) Staging::discard(folder);
        }
    }
}

CheckpointReport CheckpointKeeper::report() {
    wait();
    CheckpointReport report = report_;
    const auto all = list_checkpoints(run_);
    if (!all.empty()) report.last = checkpoint_step(all.back());
    if (const auto best = best_checkpoint(run_)) report.best = checkpoint_step(*best);
    return report;
}

}  // namespace rudder::train
