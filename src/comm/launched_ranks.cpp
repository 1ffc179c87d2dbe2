#include "launched_ranks.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>

#include <fmt/format.h>
#include <sys/wait.h>

#include "core/log.hpp"
#include "rudder/core/error.hpp"

#include "rank_status.hpp"

namespace rudder::comm {

namespace {

using LaunchClock = std::chrono::steady_clock;

/// A rank that has not shown itself so long after the first one did was lost before it could.
constexpr auto muster = std::chrono::seconds(30);

}  // namespace

LaunchedRanks::LaunchedRanks(int count, std::filesystem::path folder, RankParent parent)
    : folder_(std::move(folder)), parent_(parent), ranks_(static_cast<std::size_t>(count)) {}

void LaunchedRanks::exited(int number, int wait_status) {
    ranks_[static_cast<std::size_t>(number)].wait_status = wait_status;
}

std::optional<int> LaunchedRanks::code_of(int number) const {
    if (const auto status = read_rank_status(folder_, number)) return status->code;
    const std::optional<int> wait_status = ranks_[static_cast<std::size_t>(number)].wait_status;
    if (wait_status && WIFEXITED(*wait_status)) return WEXITSTATUS(*wait_status);
    return std::nullopt;
}

void LaunchedRanks::look() {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (!ranks_[r].ended) look_at(static_cast<int>(r), ranks_[r]);
    }
}

void LaunchedRanks::look_at(int number, Rank& rank) {
    if (!rank.seen) {
        const auto process = read_rank_process(folder_, number);
        if (!process) return;
        rank.seen = true;
        rank.handle = ProcessHandle::open(process->pid, process->start);
        if (!first_seen_) first_seen_ = LaunchClock::now();
    }
    if (rank.handle && !rank.handle->ended()) return;
    if (parent_ == RankParent::launcher && !rank.wait_status) return;  // it is about to be told
    rank.ended = true;
    rank.handle.reset();
    if (killed_ || code_of(number) || stopped_joining(number)) return;
    name_lost(number);
}

bool LaunchedRanks::stopped_joining(int number) const {
    const auto process = read_rank_process(folder_, number);
    return interrupted_ && process && process->stage == RankStage::joining;
}

/// The first is the cause; those that follow may have been ended because of it.
void LaunchedRanks::name_lost(int number) {
    lost_.push_back(number);
    const std::string text =
        first_lost_
            ? fmt::format("rank {} ended without a status after rank {} had", number, *first_lost_)
            : fmt::format("rank {} ended without a status: it was killed or crashed", number);
    if (!first_lost_) first_lost_ = number;
    log::last_error(text);
}

bool LaunchedRanks::troubled() {
    int missing = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (!ranks_[r].seen) ++missing;
        if (!ranks_[r].ended) continue;
        if (code_of(static_cast<int>(r)).value_or(1) != 0) return true;
    }
    return missing > 0 && first_seen_ && LaunchClock::now() > *first_seen_ + muster;
}

void LaunchedRanks::interrupt() {
    if (!interrupted_) note_interrupt(folder_);
    interrupted_ = true;
    for (Rank& rank : ranks_) {
        if (!rank.handle || rank.told) continue;
        rank.handle->signal(SIGTERM);
        rank.told = true;
    }
}

void LaunchedRanks::kill() {
    killed_ = true;
    for (const Rank& rank : ranks_) {
        if (rank.handle) rank.handle->signal(SIGKILL);
    }
}

bool LaunchedRanks::any_spoke() const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (read_rank_status(folder_, static_cast<int>(r))) return true;
    }
    return false;
}

int LaunchedRanks::code() {
    std::vector<int> codes;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const int number = static_cast<int>(r);
        if (const auto code = code_of(number)) {
            codes.push_back(*code);
            continue;
        }
        const bool lost = std::ranges::find(lost_, number) != lost_.end();
        // One that was ended, or never came, because of an interrupt.
        const bool stopped = interrupted_ && !lost;
        codes.push_back(static_cast<int>(stopped ? ErrorKind::interrupted : ErrorKind::rank));
        if (!lost && !stopped) name_lost(number);
    }
    return most_severe(codes);
}

int most_severe(const std::vector<int>& codes) {
    static constexpr std::array order{4, 1, 3, 2, 5};
    for (const int code : order) {
        if (std::ranges::find(codes, code) != codes.end()) return code;
    }
    const auto other = std::ranges::find_if(codes, [](int code) { return code != 0; });
    return other == codes.end() ? 0 : *other;
}

}  // namespace rudder::comm
