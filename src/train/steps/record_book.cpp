#include "record_book.hpp"

#include <algorithm>
#include <iterator>

#include "core/packed.hpp"

namespace rudder::train {

namespace {

constexpr comm::Channel closing_channel = comm::channel_of(comm::Talk::closing);

/// Bytes since `before`.
ClosedAccounts take_stock(const comm::Communicator& comm, const comm::AccountTotals& before) {
    const comm::AccountTotals totals = comm.accounts();
    return {comm::Bytes(totals.received) - comm::Bytes(before.received),
            totals.received_total - before.received_total, totals.sent_total - before.sent_total};
}

}  // namespace

std::vector<StepRecord> RecordBook::gather() {
    const auto all = comm_.gather(0, std::span<const std::byte>(packed(own_)));
    own_.clear();
    std::vector<StepRecord> records;
    for (const auto& bytes : all)
        std::ranges::move(unpacked<std::vector<StepRecord>>(bytes), std::back_inserter(records));
    std::ranges::stable_sort(records, {}, &StepRecord::step);
    return records;
}

void CheckpointFigures::add_to(RunCounts& counts) const noexcept {
    counts.cpu_seconds += cpu_seconds;
    counts.policy_seconds += policy_seconds;
    counts.pilot_seconds += pilot_seconds;
    counts.bytes.features += rows;
    counts.received_total += rows + but_rows;
    counts.coding += coding;
}

comm::AccountTotals open_accounts(const comm::Communicator& comm) {
    comm.barrier();  // all that was sent before has arrived
    constexpr std::byte ready{1};
    if (comm.rank() != 0) {
        comm::AccountTotals totals = comm.accounts();
        totals.sent_total += 1;  // the message below, which rank 0 has received when it counts
        comm.send_owned(0, closing_channel, comm::Kind::control, {ready}).wait();
        static_cast<void>(comm.receive_message(0, closing_channel).take());
        return totals;
    }
    for (int rank = 1; rank < comm.size(); ++rank)
        static_cast<void>(comm.receive_message(rank, closing_channel).take());
    comm::AccountTotals totals = comm.accounts();
    for (int rank = 1; rank < comm.size(); ++rank)
        static_cast<void>(comm.send_owned(rank, closing_channel, comm::Kind::control, {}));
    return totals;
}

FinalReport close_accounts(const comm::Communicator& comm, const comm::AccountTotals& before,
                           const ClosingFigures& own) {
    if (comm.rank() != 0) {
        // All that was sent to this rank has arrived, and nothing more comes before rank 0 has the
        // message below; so the counts are final but for that message. Nor does this rank send
        // anything else before rank 0 has counted, too.
        FinalReport closing{take_stock(comm, before), own};
        closing.accounts.sent_total += packed(closing).size();
        comm.send_owned(0, closing_channel, comm::Kind::control, packed(closing)).wait();
        static_cast<void>(comm.receive_message(0, closing_channel).take());
        return {};
    }
    FinalReport report{{}, own};
    for (int rank = 1; rank < comm.size(); ++rank) {
        const comm::Message message = comm.receive_message(rank, closing_channel).take();
        const auto closing = unpacked<FinalReport>(message.bytes);
        report.accounts += closing.accounts;
        report.figures += closing.figures;
    }
    report.accounts += take_stock(comm, before);
    for (int rank = 1; rank < comm.size(); ++rank)
        static_cast<void>(comm.send_owned(rank, closing_channel, comm::Kind::control, {}));
    return report;
}

}  // namespace rudder::train
