// What each rank leaves for the launcher that started it: how it ended, and why.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

namespace rudder::comm {

/// The environment variable that names the launcher's folder; ranks started by others have none.
inline constexpr const char* status_folder_variable = "RUDDER_STATUS_FOLDER";

struct RankStatus {
    int code = 0;
    std::string reason;
};

/// The rank a launcher has given this process, before the ranks have met; -1 if it cannot be told.
[[nodiscard]] int launched_rank();

/// How far a rank has come. One that is joining may be ended by MPI, which then tells nobody.
enum class RankStage : std::uint8_t { joining, joined };

/// A process, told from later ones of the same number by when it was started.
struct RankProcess {
    pid_t pid = 0;
    std::uint64_t start = 0;
    RankStage stage = RankStage::joining;
};

/// Called by a rank at its start, when it has found the others, and at its end; nothing without a
/// launcher of ours.
void write_rank_process(int rank, RankStage stage);
void write_rank_status(int code, const std::string& reason) noexcept;
/// From here on no status is written: the launcher who would read it is gone.
void leave_no_status() noexcept;

/// Called by the launcher: what the ranks have left so far.
[[nodiscard]] std::optional<RankProcess> read_rank_process(const std::filesystem::path& folder,
                                                           int rank);
[[nodiscard]] std::optional<RankStatus> read_rank_status(const std::filesystem::path& folder,
                                                         int rank);

/// Called by the launcher before it passes an interrupt on, so that ranks know whose wish it is.
void note_interrupt(const std::filesystem::path& folder);
/// Called by a rank: whether its launcher has been interrupted.
[[nodiscard]] bool launcher_interrupted() noexcept;

}  // namespace rudder::comm
