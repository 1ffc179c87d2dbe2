#include "checkpoint_keeper.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/log.hpp"
#include "core/span.hpp"
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
    : run_(std::move(run)), keep_(keep) {}

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
    writing_ = Executor::current().spawn("checkpoint", [this] { put_away(); });
}

void CheckpointKeeper::put_away() {
    const Span span("writing a checkpoint");
    try {
        write_checkpoint(run_, memory_);
        remove_old();
    } catch (const Error& error) {
        if (std::exchange(warned_, true)) return;
        log::warning(
            fmt::format("no checkpoint at step {}: {}; training goes on, the last good "
                        "one stays",
                        memory_.state.step, error.what()));
    }
}

void CheckpointKeeper::remove_old() const {
    const auto all = list_checkpoints(run_);
    const auto best = best_checkpoint(run_);
    std::error_code code;
    for (std::size_t i = 0; i + keep_ < all.size(); ++i) {
        if (best && *best == all[i]) continue;
        fs::remove_all(all[i], code);
    }
}

void CheckpointKeeper::best(std::uint64_t step) {
    wait();
    const auto folder = checkpoint_folder(run_, step);
    std::error_code code;
    if (!fs::exists(folder, code)) return;
    try {
        mark_best(run_, folder);
    } catch (const Error& error) {
        if (!std::exchange(warned_, true)) log::warning(error.what());
    }
}

}  // namespace rudder::train
