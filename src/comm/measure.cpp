#include "measure.hpp"

#include <algorithm>
#include <chrono>

#include "core/executor/executor.hpp"

namespace rudder::comm {

namespace {

using Clock = std::chrono::steady_clock;

constexpr Channel measure_channel = channel_of(Talk::figures);
constexpr int round_trips = 101;
constexpr int streams = 5;
constexpr std::size_t stream_messages = 8;
constexpr std::size_t message_bytes = std::size_t{1} << 20;
constexpr int all_pairs_limit = 5;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::ranges::nth_element(values,
                             values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
    return values[values.size() / 2];
}

/// Sends `bytes` to `peer` and waits for an answer of 8 bytes, or the other way round.
double exchange(const Communicator& comm, int peer, bool asks, std::size_t messages,
                std::span<std::byte> bytes) {
    std::array<std::byte, 8> small{};
    const auto start = Clock::now();
    std::vector<Request> requests;
    for (std::size_t i = 0; i < messages; ++i) {
        requests.push_back(asks ? comm.send(peer, measure_channel, Kind::control,
                                            std::span<const std::byte>(bytes))
                                : comm.receive(peer, measure_channel, bytes));
    }
    wait_all(requests);
    const std::span answer(small);
    if (asks) {
        comm.receive(peer, measure_channel, std::span<std::byte>(answer)).wait();
    } else {
        comm.send(peer, measure_channel, Kind::control, std::span<const std::byte>(answer)).wait();
    }
    return seconds_since(start);
}

PairFigures measure(const Communicator& comm, int first, int second) {
    PairFigures figures{first, second, 0, 0};
    const bool asks = comm.rank() == first;
    if (asks || comm.rank() == second) {
        const int peer = asks ? second : first;
        std::vector<std::byte> bytes(message_bytes);
        std::vector<double> trips;
        for (int i = 0; i < round_trips; ++i) {
            trips.push_back(exchange(comm, peer, asks, 1, std::span(bytes).first(8)));
        }
        std::vector<double> rates;
        for (int i = 0; i < streams; ++i) {
            const double time = exchange(comm, peer, asks, stream_messages, bytes);
            rates.push_back(static_cast<double>(stream_messages * message_bytes) * 8e-6 / time);
        }
        figures.latency_us = median(trips) / 2 * 1e6;
        figures.mbit_s = median(rates);
    }
    comm.broadcast(first, std::span(&figures, 1));
    return figures;
}

}  // namespace

std::vector<PairFigures> measure_pairs(const Communicator& comm) {
    std::vector<PairFigures> pairs;
    const int firsts = comm.size() <= all_pairs_limit ? comm.size() : 1;
    for (int first = 0; first < firsts; ++first) {
        for (int second = first + 1; second < comm.size(); ++second) {
            pairs.push_back(measure(comm, first, second));
        }
    }
    return pairs;
}

double measure_rate(const Communicator& comm) {
    constexpr int rate_rounds = 3;
    constexpr std::size_t rate_bytes = std::size_t{256} << 10;
    const std::vector<std::byte> out(rate_bytes);
    std::vector<std::byte> in(rate_bytes);
    const int next = (comm.rank() + 1) % comm.size();
    const int before = (comm.rank() + comm.size() - 1) % comm.size();
    std::vector<double> times;
    for (int i = 0; i < rate_rounds; ++i) {
        comm.barrier();
        const Duration start = Executor::current().now();
        Request received = comm.receive(before, measure_channel, std::span<std::byte>(in));
        Request sent =
            comm.send(next, measure_channel, Kind::control, std::span<const std::byte>(out));
        received.wait();
        sent.wait();
        times.push_back(to_seconds(Executor::current().now() - start));
    }
    const double rate = static_cast<double>(rate_bytes) / std::max(median(times), 1e-9);
    return static_cast<double>(comm.all_min(static_cast<std::int64_t>(rate)));
}

double measure_barrier_us(const Communicator& comm) {
    std::vector<double> times;
    for (int i = 0; i < round_trips; ++i) {
        const auto start = Clock::now();
        comm.barrier();
        times.push_back(seconds_since(start));
    }
    return median(times) * 1e6;
}

}  // namespace rudder::comm
