// What ranks tell each other about themselves while they work.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rudder::comm {

/// How a rank is.
enum class RankState : std::int32_t { running = 0, finished = 1, failed = 2 };

/// A rank's report on itself; plain bytes, sent and shared as they are.
struct RankReport {
    RankState state = RankState::running;
    std::int32_t code = 0;       ///< the exit code of a rank that failed
    std::uint64_t progress = 0;  ///< grows whenever a phase begins or ends
    std::int32_t waiting = 0;    ///< whether it waits for messages
    std::int32_t relayed = 0;    ///< whether it ends because another did: `reason` says which
    std::array<char, 100> phase{};
    std::array<char, 400> reason{};
};

/// What this process is doing now, from its spans.
[[nodiscard]] RankReport report_phases();
void set_text(std::span<char> field, const std::string& text);

/// A report as it travels between machines, and back: none if a field has a value that no rank
/// gives it. Text comes back with an end and without control characters.
inline constexpr std::size_t report_frame_bytes = 8 + sizeof(RankReport);
[[nodiscard]] std::vector<char> report_frame(const RankReport& report);
[[nodiscard]] std::optional<RankReport> read_report(std::span<const char> frame);

/// One rank's place on the board that the processes of a machine share. The rank alone writes; a
/// sequence number (odd while it writes) lets others read a whole report. The report lies there as
/// words that are atomic each, so that reading while it is written is no race.
struct BoardEntry {
    static constexpr std::size_t words = (sizeof(RankReport) + 7) / 8;

    std::atomic<std::uint64_t> sequence;
    std::atomic<std::int64_t> heartbeat;  ///< of the machine's monotonic clock, in ns
    std::array<std::atomic<std::uint64_t>, words> report;

    void write(const RankReport& fresh) noexcept;
    [[nodiscard]] RankReport read() const noexcept;
};

/// Nanoseconds of the machine's monotonic clock.
[[nodiscard]] std::int64_t monotonic_ns() noexcept;

}  // namespace rudder::comm
