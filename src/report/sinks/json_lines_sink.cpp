#include "report/json_lines_sink.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <unistd.h>

#include "core/log.hpp"
#include "rudder/core/file.hpp"

namespace rudder::report {

namespace fs = std::filesystem;

namespace {

/// Bytes that are written at once.
constexpr std::size_t write_bytes = std::size_t{256} << 10;

/// A file of lines that stays one.
struct Lines {
    File file;
    std::uint64_t bytes;

    void append(std::string_view text) {
        try {
            file.write(std::as_bytes(std::span(text)));
        } catch (...) {
            // A piece of a line would spoil the next one.
            static_cast<void>(!::ftruncate(file.descriptor(), static_cast<off_t>(bytes)));
            throw;
        }
        bytes += text.size();
    }
};

Lines open_lines(const fs::path& file, std::uint64_t bytes) {
    return {File::append(file, bytes), bytes};
}

/// How many of the first `bytes` of a file are whole lines: all, unless a power cut took the end.
std::uint64_t whole_lines(const fs::path& file, std::uint64_t bytes) {
    std::error_code code;
    if (bytes == 0 || !fs::exists(file, code)) return 0;
    const File in = File::open(file);
    std::array<std::byte, 4096> piece{};
    std::uint64_t end = std::min(bytes, in.size());
    while (end > 0) {
        const std::uint64_t begin = end - std::min<std::uint64_t>(end, piece.size());
        const auto text = std::span(piece).first(static_cast<std::size_t>(end - begin));
        static_cast<void>(in.read_at(begin, text));
        const auto last = std::find(text.rbegin(), text.rend(), std::byte{'\n'});
        if (last != text.rend()) return begin + static_cast<std::uint64_t>(text.rend() - last);
        end = begin;
    }
    return 0;
}

/// metrics.jsonl of a run that goes on after so many bytes.
Lines open_metrics(const fs::path& file, std::uint64_t bytes) {
    const std::uint64_t whole = whole_lines(file, bytes);
    if (whole < bytes) {
        log::warning(
            fmt::format("metrics.jsonl is shorter than its checkpoint says ({} of {} "
                        "bytes): cut to its last whole line; some steps are missing in it",
                        whole, bytes));
    }
    return open_lines(file, whole);
}

}  // namespace

struct JsonLinesSink::State {
    fs::path folder;
    Lines metrics;
    Lines epochs;
    std::optional<Lines> decisions;
    std::string text;
    std::shared_ptr<std::atomic<std::uint64_t>> metrics_bytes;
    StepLines lines{};
};

JsonLinesSink::JsonLinesSink(const fs::path& folder, std::uint64_t metrics_bytes,
                             std::span<const train::EpochRecord> told)
    : state_(new State{folder, open_metrics(folder / "metrics.jsonl", metrics_bytes),
                       open_lines(folder / "epochs.jsonl", 0), std::nullopt, std::string(),
                       std::make_shared<std::atomic<std::uint64_t>>()}) {
    *state_->metrics_bytes = state_->metrics.bytes;
    for (const train::EpochRecord& one : told)
        epoch(one);
}

JsonLinesSink::~JsonLinesSink() = default;

void JsonLinesSink::steps(std::span<const train::StepRecord> steps) {
    std::string& text = state_->text;
    text.clear();
    const auto write = [&] {
        state_->metrics.append(text);
        state_->metrics_bytes->store(state_->metrics.bytes, std::memory_order_relaxed);
        text.clear();
    };
    for (const train::StepRecord& step : steps) {
        state_->lines.append(text, step);
        if (text.size() >= write_bytes) write();
    }
    write();
}

void JsonLinesSink::epoch(const train::EpochRecord& epoch) {
    state_->epochs.append(epoch_line(epoch));
}

void JsonLinesSink::decisions(std::span<const steer::DecisionRecord> decisions) {
    if (decisions.empty()) return;
    if (!state_->decisions) {
        const fs::path file = state_->folder / "decisions.jsonl";
        std::error_code code;
        const auto size = fs::file_size(file, code);  // of a run that goes on
        state_->decisions = open_lines(file, code ? 0 : size);
    }
    std::string text;
    for (const steer::DecisionRecord& decision : decisions)
        text += steer::log_line(decision) + "\n";
    state_->decisions->append(text);
}

void JsonLinesSink::close() {
    state_->metrics.file.sync_and_close();
    state_->epochs.file.sync_and_close();
    if (state_->decisions) state_->decisions->file.sync_and_close();
}

std::shared_ptr<const std::atomic<std::uint64_t>> JsonLinesSink::metrics_bytes() const {
    return state_->metrics_bytes;
}

}  // namespace rudder::report
