// The ranks that a launcher has started, seen through what they leave and by handles of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "process_handle.hpp"

namespace rudder::comm {

/// Whose children ranks are: how those of others have ended is known by what they leave alone.
enum class RankParent : std::uint8_t { launcher, mpirun };

class LaunchedRanks {
public:
    LaunchedRanks(int count, std::filesystem::path folder, RankParent parent);

    /// Takes note of ranks that have come and of those that have ended; names one that ended
    /// without a status at once.
    void look();
    /// How a child has ended, as waitpid says: where a rank could leave no status (a disk is full),
    /// this is it.
    void exited(int number, int wait_status);
    /// Whether one has ended badly, or never came, so that the others should end soon.
    [[nodiscard]] bool troubled();
    /// Passes an interrupt on: to each once, also to those that come later.
    void interrupt();
    /// Ends all that live, by force.
    void kill();
    /// The code of the whole, with a message for what no rank could say itself.
    [[nodiscard]] int code();
    /// Whether any has left a status, and so has said how it ended.
    [[nodiscard]] bool any_spoke() const;

private:
    struct Rank {
        bool seen = false;
        bool ended = false;
        bool told = false;                    ///< of an interrupt
        std::optional<ProcessHandle> handle;  ///< while it lives
        std::optional<int> wait_status;       ///< of a child that has ended
    };

    void look_at(int number, Rank& rank);
    /// The code that one has left, or ended with.
    [[nodiscard]] std::optional<int> code_of(int number) const;
    /// Whether one that left no status was ended by MPI because the others had left.
    [[nodiscard]] bool stopped_joining(int number) const;
    void name_lost(int number);

    std::filesystem::path folder_;
    RankParent parent_;
    std::vector<Rank> ranks_;
    std::optional<std::chrono::steady_clock::time_point> first_seen_;
    std::optional<int> first_lost_;
    std::vector<int> lost_;
    bool interrupted_ = false;
    bool killed_ = false;
};

/// The most severe of some exit codes: a lost rank, a failure, bad input, wrong use, interrupt,
/// none.
[[nodiscard]] int most_severe(const std::vector<int>& codes);

}  // namespace rudder::comm
