// Collectives over point-to-point messages, the same for all bodies.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/span.hpp"
#include "rudder/comm/communicator.hpp"

namespace rudder::comm {

namespace {

constexpr Channel collective_channel = channel_of(Talk::collectives);
constexpr Channel agreement_channel = channel_of(Talk::agreement);

/// What a rank is about to do, for the comparison of `set_paranoid`.
struct Intent {
    std::array<char, 24> operation{};
    std::int64_t root = 0;
    std::uint64_t bytes = 0;
    friend bool operator==(const Intent&, const Intent&) = default;
};

std::string describe(const Intent& intent) {
    return fmt::format("{} with root {} and {} bytes", intent.operation.data(), intent.root,
                       intent.bytes);
}

}  // namespace

void Communicator::agree(const char* operation, int root, std::uint64_t bytes) const {
    if (!*paranoid_) return;
    Intent mine;
    std::strncpy(mine.operation.data(), operation, mine.operation.size() - 1);
    mine.root = root;
    mine.bytes = bytes;
    std::vector<Intent> theirs(ranks_->size());
    std::vector<Request> requests;
    for (int r = 0; r < size(); ++r) {
        const auto slot = std::span(theirs).subspan(static_cast<std::size_t>(r), 1);
        requests.push_back(receive(r, agreement_channel, slot, Kind::control));
        requests.push_back(
            send(r, agreement_channel, Kind::control, std::span<const Intent>(&mine, 1)));
    }
    wait_all(requests);
    for (int r = 0; r < size(); ++r) {
        const Intent& other = theirs[static_cast<std::size_t>(r)];
        if (other == mine) continue;
        throw Error(ErrorKind::rank, "the ranks are not in the same collective",
                    fmt::format("rank {} is in {}; rank {} is in {}", global_rank(rank_),
                                describe(mine), global_rank(r), describe(other)),
                    "all ranks must call the same collectives in the same order");
    }
}

void Communicator::barrier() const {
    const Span span("barrier");
    agree("barrier", 0, 0);
    // Dissemination: after round k everyone has heard, directly or not, of 2^(k+1) ranks.
    for (int distance = 1; distance < size(); distance *= 2) {
        const int to = (rank_ + distance) % size();
        const int from = (rank_ - distance + size()) % size();
        Request out = send(to, collective_channel, Kind::control, std::span<const std::byte>{});
        Request in = receive(from, collective_channel, std::span<std::byte>{}, Kind::control);
        in.wait();
        out.wait();
    }
}

void Communicator::broadcast_bytes(int root, std::span<std::byte> bytes, Kind kind) const {
    const Span span("broadcast");
    agree("broadcast", root, bytes.size());
    // A binomial tree over ranks counted from the root.
    const int me = (rank_ - root + size()) % size();
    const auto absolute = [&](int relative) { return (relative + root) % size(); };
    int distance = 1;
    while (distance < size() && (me & distance) == 0)
        distance *= 2;
    if (me != 0) receive(absolute(me - distance), collective_channel, bytes, kind).wait();
    std::vector<Request> sends;
    for (distance /= 2; distance > 0; distance /= 2) {
        if (me + distance >= size()) continue;
        sends.push_back(send(absolute(me + distance), collective_channel, kind,
                             std::span<const std::byte>(bytes)));
    }
    wait_all(sends);
}

std::vector<std::vector<std::byte>> Communicator::gather_bytes(int root,
                                                               std::span<const std::byte> bytes,
                                                               Kind kind) const {
    const Span span("gather");
    agree("gather", root, 0);
    if (rank_ != root) {
        send(root, collective_channel, kind, bytes).wait();
        return {};
    }
    std::vector<Request> requests;
    for (int r = 0; r < size(); ++r) {
        if (r != rank_) requests.push_back(receive_message(r, collective_channel));
    }
    std::vector<std::vector<std::byte>> all(ranks_->size());
    std::size_t next = 0;
    for (int r = 0; r < size(); ++r) {
        auto& slot = all[static_cast<std::size_t>(r)];
        if (r == rank_) {
            slot.assign(bytes.begin(), bytes.end());
        } else {
            slot = requests[next++].take().bytes;
        }
    }
    return all;
}

std::vector<std::vector<std::byte>> Communicator::all_gather_bytes(std::span<const std::byte> bytes,
                                                                   Kind kind) const {
    const Span span("all-gather");
    agree("all-gather", 0, 0);
    const std::vector<std::span<const std::byte>> out(ranks_->size(), bytes);
    return all_to_all_bytes(out, kind);
}

std::vector<std::vector<std::byte>> Communicator::all_to_all_bytes(
    std::span<const std::span<const std::byte>> out, Kind kind) const {
    const Span span("all-to-all");
    agree("all-to-all", 0, 0);
    std::vector<Request> receives;
    std::vector<Request> sends;
    for (int step = 1; step < size(); ++step) {
        receives.push_back(receive_message((rank_ - step + size()) % size(), collective_channel));
    }
    for (int step = 1; step < size(); ++step) {
        const int to = (rank_ + step) % size();
        sends.push_back(send(to, collective_channel, kind, out[static_cast<std::size_t>(to)]));
    }
    std::vector<std::vector<std::byte>> in(ranks_->size());
    const auto own = out[static_cast<std::size_t>(rank_)];
    in[static_cast<std::size_t>(rank_)].assign(own.begin(), own.end());
    for (int step = 1; step < size(); ++step) {
        const auto from = static_cast<std::size_t>((rank_ - step + size()) % size());
        in[from] = receives[static_cast<std::size_t>(step - 1)].take().bytes;
    }
    wait_all(sends);
    return in;
}

void Communicator::exchange_bytes(std::span<const std::span<const std::byte>> out,
                                  std::span<const std::span<std::byte>> into, Kind kind) const {
    const Span span("all-to-all");
    RUDDER_CHECK(out.size() == ranks_->size() && into.size() == ranks_->size());
    agree("all-to-all", 0, 1);
    // Step by step, as a shifting ring: everyone sends to one and receives from one at a time.
    std::vector<Request> requests;
    for (int step = 1; step < size(); ++step) {
        const int from = (rank_ - step + size()) % size();
        requests.push_back(
            receive(from, collective_channel, into[static_cast<std::size_t>(from)], kind));
    }
    for (int step = 1; step < size(); ++step) {
        const int to = (rank_ + step) % size();
        Request sent = send(to, collective_channel, kind, out[static_cast<std::size_t>(to)]);
        requests[static_cast<std::size_t>(step - 1)].wait();
        sent.wait();
    }
    const auto own = static_cast<std::size_t>(rank_);
    RUDDER_CHECK(out[own].size() == into[own].size());
    if (!out[own].empty()) std::memcpy(into[own].data(), out[own].data(), out[own].size());
    wait_all(requests);
}

std::int64_t Communicator::all_min(std::int64_t value) const {
    return -1 - all_max(-1 - value);  // no number overflows so
}

std::int64_t Communicator::all_max(std::int64_t value) const {
    for (const auto& values : all_gather(std::span<const std::int64_t>(&value, 1)))
        value = std::max(value, values.front());
    return value;
}

}  // namespace rudder::comm
