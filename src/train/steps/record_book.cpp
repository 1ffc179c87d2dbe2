#include "record_book.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace rudder::train {

namespace {

/// A record without its list, as it travels.
struct FlatRecord {
    std::uint64_t step;
    std::uint32_t epoch;
    std::uint32_t rank;
    float loss;
    StepSeconds seconds;
    buffer::RowCounts rows;
    std::array<std::uint64_t, comm::kind_count> bytes;
    std::uint64_t edges;
    std::uint64_t window;
    std::uint64_t capacity;
    std::uint64_t bulk;
    std::uint64_t sample_threads;
    std::uint64_t fetch_threads;
    std::array<char, 96> policy;  ///< with a zero behind it; longer ones are cut
};

std::array<char, 96> cut(const std::string& text) {
    std::array<char, 96> out{};
    std::copy_n(text.begin(), std::min(text.size(), out.size() - 1), out.begin());
    return out;
}

/// What a rank says of itself at the end.
struct Closing {
    std::array<std::uint64_t, comm::kind_count> received{};
    std::uint64_t received_total = 0;
    std::uint64_t sent_total = 0;
};

constexpr comm::Channel closing_channel = comm::channel_of(comm::Talk::closing);

std::vector<std::byte> pack(const Closing& closing, std::span<const double> extra) {
    std::vector<std::byte> bytes(sizeof(Closing) + extra.size_bytes());
    std::memcpy(bytes.data(), &closing, sizeof(closing));
    if (!extra.empty())
        std::memcpy(bytes.data() + sizeof(closing), extra.data(), extra.size_bytes());
    return bytes;
}

Closing take_stock(const comm::Communicator& comm, const comm::AccountTotals& before) {
    const comm::AccountTotals totals = comm.accounts();
    Closing closing{totals.received, totals.received_total - before.received_total,
                    totals.sent_total - before.sent_total};
    for (std::size_t k = 0; k < comm::kind_count; ++k)
        closing.received[k] -= before.received[k];
    return closing;
}

}  // namespace

std::vector<StepRecord> RecordBook::gather() {
    std::vector<FlatRecord> flat;
    std::vector<std::uint64_t> owners;
    for (const StepRecord& r : own_) {
        flat.push_back({r.step, r.epoch, r.rank, r.loss, r.seconds, r.rows, r.bytes, r.edges,
                        r.window, r.capacity, r.bulk, r.sample_threads, r.fetch_threads,
                        cut(r.policy)});
        owners.insert(owners.end(), r.bytes_by_owner.begin(), r.bytes_by_owner.end());
    }
    own_.clear();
    const auto all = comm_.gather(0, std::span<const FlatRecord>(flat));
    const auto all_owners = comm_.gather(0, std::span<const std::uint64_t>(owners));
    std::vector<StepRecord> records;
    const auto ranks = static_cast<std::ptrdiff_t>(comm_.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        auto list = all_owners[rank].begin();
        for (const FlatRecord& r : all[rank]) {
            records.push_back({r.step, r.epoch, r.rank, r.loss, r.seconds, r.rows, r.bytes,
                               std::vector<std::uint64_t>(list, list + ranks), r.edges,
                               r.policy.data(), r.window, r.capacity, r.bulk, r.sample_threads,
                               r.fetch_threads});
            list += ranks;
        }
    }
    std::ranges::stable_sort(records, {}, [](const StepRecord& r) { return r.step; });
    return records;
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
                           std::span<const double> extra) {
    const std::size_t size = sizeof(Closing) + extra.size_bytes();
    if (comm.rank() != 0) {
        // All that was sent to this rank has arrived, and nothing more comes before rank 0 has the
        // message below; so the counts are final but for that message. Nor does this rank send
        // anything else before rank 0 has counted, too.
        Closing closing = take_stock(comm, before);
        closing.sent_total += size;
        comm.send_owned(0, closing_channel, comm::Kind::control, pack(closing, extra)).wait();
        static_cast<void>(comm.receive_message(0, closing_channel).take());
        return {};
    }
    FinalReport report;
    std::vector<Closing> closings(static_cast<std::size_t>(comm.size()));
    report.extra.resize(closings.size());
    report.extra[0].assign(extra.begin(), extra.end());
    for (int rank = 1; rank < comm.size(); ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const comm::Message message = comm.receive_message(rank, closing_channel).take();
        RUDDER_CHECK(message.bytes.size() == size);
        std::memcpy(&closings[r], message.bytes.data(), sizeof(Closing));
        report.extra[r].resize(extra.size());
        if (!extra.empty()) {
            std::memcpy(report.extra[r].data(), message.bytes.data() + sizeof(Closing),
                        extra.size_bytes());
        }
    }
    closings[0] = take_stock(comm, before);
    for (int rank = 1; rank < comm.size(); ++rank)
        static_cast<void>(comm.send_owned(rank, closing_channel, comm::Kind::control, {}));
    for (const Closing& closing : closings) {
        for (std::size_t k = 0; k < comm::kind_count; ++k)
            report.accounts.received[k] += closing.received[k];
        report.accounts.received_total += closing.received_total;
        report.accounts.sent_total += closing.sent_total;
    }
    return report;
}

}  // namespace rudder::train
