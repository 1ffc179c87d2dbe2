// Step records on their way from all ranks to the first.
#pragma once

#include <algorithm>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/train/records.hpp"
#include "train/checkpoints/run_state.hpp"

namespace rudder::train {

/// Keeps the records of this rank until they are gathered.
class RecordBook {
public:
    explicit RecordBook(const comm::Communicator& comm) : comm_(comm) {}

    void add(StepRecord record) { own_.push_back(std::move(record)); }
    [[nodiscard]] std::size_t waiting() const noexcept { return own_.size(); }
    /// Collective. On rank 0: the records of all ranks since the last time, by step and rank;
    /// elsewhere none.
    [[nodiscard]] std::vector<StepRecord> gather();

private:
    const comm::Communicator& comm_;
    std::vector<StepRecord> own_;
};

/// Bytes of ranks at a moment when nothing is under way.
struct ClosedAccounts {
    comm::Bytes received;
    std::uint64_t received_total = 0;
    std::uint64_t sent_total = 0;

    static constexpr auto fields = unnamed_fields(
        &ClosedAccounts::received, &ClosedAccounts::received_total, &ClosedAccounts::sent_total);
    ClosedAccounts& operator+=(const ClosedAccounts& other) noexcept {
        return add_fields(*this, other);
    }
};
static_assert(lists_all_fields<ClosedAccounts>);

/// What ranks say of themselves at the end of a run.
struct ClosingFigures {
    Rows unused;  ///< of steps that were assembled and not taken
    double cpu_seconds = 0;
    std::uint64_t peak_rss = 0;  ///< the largest rank's
    std::uint64_t in_flight_bytes = 0;
    std::uint64_t buffer_bytes = 0;
    std::uint64_t capacity = 0;
    std::uint64_t floor = 0;
    double policy_seconds = 0;
    double pilot_seconds = 0;
    comm::CodingTotals coding;
    double device_upload = 0;
    double device_kernels = 0;
    double device_waiting = 0;
    std::uint64_t device_staged = 0;

    static constexpr auto fields = unnamed_fields(
        &ClosingFigures::unused, &ClosingFigures::cpu_seconds, &ClosingFigures::peak_rss,
        &ClosingFigures::in_flight_bytes, &ClosingFigures::buffer_bytes, &ClosingFigures::capacity,
        &ClosingFigures::floor, &ClosingFigures::policy_seconds, &ClosingFigures::pilot_seconds,
        &ClosingFigures::coding, &ClosingFigures::device_upload, &ClosingFigures::device_kernels,
        &ClosingFigures::device_waiting, &ClosingFigures::device_staged);
    ClosingFigures& operator+=(const ClosingFigures& other) noexcept {
        const std::uint64_t peak = std::max(peak_rss, other.peak_rss);
        add_fields(*this, other);
        peak_rss = peak;
        return *this;
    }
};
static_assert(lists_all_fields<ClosingFigures>);

/// What ranks say of themselves where a checkpoint is taken: of the steps done since the run
/// began or went on.
struct CheckpointFigures {
    double cpu_seconds = 0;
    double policy_seconds = 0;
    double pilot_seconds = 0;
    std::uint64_t rows = 0;      ///< bytes of messages that rows came in
    std::uint64_t but_rows = 0;  ///< all other bytes received
    comm::CodingTotals coding;

    void add_to(RunCounts& counts) const noexcept;
};

/// Collective: where the accounts of a run begin, at a moment when nothing is under way.
[[nodiscard]] comm::AccountTotals open_accounts(const comm::Communicator& comm);

/// Sums over ranks.
struct FinalReport {
    ClosedAccounts accounts;
    ClosingFigures figures;

    static constexpr auto fields = unnamed_fields(&FinalReport::accounts, &FinalReport::figures);
};
static_assert(lists_all_fields<FinalReport>);

/// Collective; the result on rank 0: what came since `before`, and the figures of all ranks. Sent
/// equals received in the result, its own messages included.
[[nodiscard]] FinalReport close_accounts(const comm::Communicator& comm,
                                         const comm::AccountTotals& before,
                                         const ClosingFigures& own);

}  // namespace rudder::train
