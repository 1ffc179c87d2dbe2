// Step records on their way from all ranks to the first.
#pragma once

#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/train/records.hpp"

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

/// Bytes of all ranks at a moment when nothing is under way.
struct ClosedAccounts {
    std::array<std::uint64_t, comm::kind_count> received{};
    std::uint64_t received_total = 0;
    std::uint64_t sent_total = 0;
};

/// Collective: where the accounts of a run begin, at a moment when nothing is under way.
[[nodiscard]] comm::AccountTotals open_accounts(const comm::Communicator& comm);

/// Collective; the result on rank 0: what came since `before`. `extra` (the same number of values
/// on all ranks) travels along and is returned by rank. Sent equals received in the result, its own
/// messages included.
struct FinalReport {
    ClosedAccounts accounts;
    std::vector<std::vector<double>> extra;
};
[[nodiscard]] FinalReport close_accounts(const comm::Communicator& comm,
                                         const comm::AccountTotals& before,
                                         std::span<const double> extra);

}  // namespace rudder::train
