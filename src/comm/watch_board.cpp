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
