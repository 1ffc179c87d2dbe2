#include "watch_board.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>

#include "core/span.hpp"

namespace rudder::comm {

std::int64_t monotonic_ns() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void set_text(std::span<char> field, const std::string& text) {
    const std::size_t size = std::min(text.size(), field.size() - 1);
    std::ranges::fill(field, '\0');
    std::memcpy(field.data(), text.data(), size);
}

RankReport report_phases() {
    RankReport report;
    report.progress = span_transitions();
    std::string text;
    bool waiting = false;
    bool working = false;
    for (const ThreadPhase& phase : current_phases()) {
        if (!text.empty()) text += "; ";
        for (std::size_t i = 0; i < phase.phases.size(); ++i) {
            text += (i == 0 ? "" : " > ") + phase.phases[i];
        }
        const bool waits = phase.phases.back() == waiting_phase;
        waiting = waiting || waits;
        working = working || !waits;
    }
    report.waiting = waiting && !working ? 1 : 0;
    set_text(report.phase, text.empty() ? "no phase" : text);
    return report;
}

namespace {

/// Begins every report on a connection: one that has lost its place is found out.
constexpr std::uint64_t frame_mark = 0x7265706f72742e31;  // "report.1"
constexpr std::int32_t largest_code = 255;

bool is_flag(std::int32_t value) {
    return value == 0 || value == 1;
}

/// Whatever lies behind the end is dropped, too.
void clean_text(std::span<char> field) {
    field.back() = '\0';
    bool ended = false;
    for (char& c : field) {
        ended = ended || c == '\0';
        const auto code = static_cast<unsigned char>(c);
        if (ended) {
            c = '\0';
        } else if ((code < 0x20 && c != '\n') || code == 0x7f) {
            c = '?';
        }
    }
}

}  // namespace

std::vector<char> report_frame(const RankReport& report) {
    std::vector<char> frame(report_frame_bytes);
    std::memcpy(frame.data(), &frame_mark, sizeof(frame_mark));
    std::memcpy(frame.data() + sizeof(frame_mark), &report, sizeof(report));
    return frame;
}

std::optional<RankReport> read_report(std::span<const char> frame) {
    std::uint64_t mark = 0;
    if (frame.size() != report_frame_bytes) return std::nullopt;
    std::memcpy(&mark, frame.data(), sizeof(mark));
    RankReport report;
    std::memcpy(static_cast<void*>(&report), frame.data() + sizeof(mark), sizeof(report));
    const auto state = static_cast<std::int32_t>(report.state);
    const bool valid = mark == frame_mark && state >= 0 &&
                       state <= static_cast<std::int32_t>(RankState::failed) && report.code >= 0 &&
                       report.code <= largest_code && is_flag(report.waiting) &&
                       is_flag(report.relayed);
    if (!valid) return std::nullopt;
    clean_text(report.phase);
    clean_text(report.reason);
    return report;
}

void BoardEntry::write(const RankReport& fresh) noexcept {
    std::array<std::uint64_t, words> copy{};
    std::memcpy(copy.data(), &fresh, sizeof(fresh));
    const std::uint64_t begun = sequence.load(std::memory_order_relaxed) + 1;
    sequence.store(begun, std::memory_order_relaxed);
    // Release: whoever sees one of the new words sees that writing has begun.
    for (std::size_t i = 0; i < words; ++i)
        report[i].store(copy[i], std::memory_order_release);
    sequence.store(begun + 1, std::memory_order_release);
    heartbeat.store(monotonic_ns(), std::memory_order_release);
}

RankReport BoardEntry::read() const noexcept {
    std::array<std::uint64_t, words> copy{};
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const std::uint64_t before = sequence.load(std::memory_order_acquire);
        // Acquire: the second look at the sequence comes after all words.
        for (std::size_t i = 0; i < words; ++i)
            copy[i] = report[i].load(std::memory_order_acquire);
        if (before % 2 == 0 && sequence.load(std::memory_order_relaxed) == before) break;
    }
    RankReport whole;
    std::memcpy(static_cast<void*>(&whole), copy.data(), sizeof(whole));
    whole.phase.back() = '\0';
    whole.reason.back() = '\0';
    return whole;
}

}  // namespace rudder::comm
