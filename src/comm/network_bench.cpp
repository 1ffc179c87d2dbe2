#include "network_bench.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <unistd.h>

#include "core/executor/executor.hpp"

#include "reduction.hpp"

namespace rudder::comm {

namespace {

constexpr Channel bench_channel = channel_of(Talk::figures);
constexpr std::array<std::uint64_t, 7> message_sizes{8,       512,     4096,   32768,
                                                     1 << 18, 1 << 20, 4 << 20};
constexpr std::uint64_t small_bytes = 8;
constexpr std::uint64_t large_bytes = 1 << 20;
constexpr std::size_t small_window = 64;  ///< messages of 8 bytes under way
constexpr std::size_t large_window = 8;   ///< of 1 MiB
constexpr std::array<std::uint64_t, 4> exchange_sizes{64, 4096, 65536, 1 << 20};
constexpr double exchange_skew = 4;
constexpr std::uint64_t most_exchanged = std::uint64_t{64} << 20;  ///< by one rank
constexpr std::array<std::uint64_t, 4> sum_sizes{4096, 65536, 1 << 20, 16 << 20};
constexpr std::int64_t least_rounds = 3;
constexpr std::int64_t most_rounds = 2000;
/// About how many figures share the time.
constexpr double figures = 36;

Duration now() {
    return Executor::current().now();
}

double middle(std::vector<double> values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, at);
    return *at;
}

/// Times `round` on all ranks: once to learn how long it takes, then as often as fits. The median
/// of what the slowest rank took of each round.
template <class Round>
double time_rounds(const Communicator& comm, double seconds, Round&& round) {
    const auto once = [&] {
        comm.barrier();
        const Duration start = now();
        round();
        return comm.all_max((now() - start).count());
    };
    const double first = std::max(static_cast<double>(once()) * 1e-9, 1e-9);
    const auto fitting = static_cast<std::int64_t>(std::min(seconds / first, 1e9));
    const std::int64_t rounds = std::clamp(fitting, least_rounds, most_rounds);
    std::vector<double> times;
    for (std::int64_t i = 0; i < rounds; ++i)
        times.push_back(static_cast<double>(once()) * 1e-9);
    return std::max(middle(std::move(times)), 1e-9);
}

/// Two ranks that talk while the others wait.
class PairBench {
public:
    PairBench(const Communicator& comm, int first, int second, double seconds)
        : comm_(comm),
          peer_(comm.rank() == first ? second : first),
          asks_(comm.rank() == first),
          plays_(asks_ || comm.rank() == second),
          seconds_(seconds),
          memory_(plays_ ? message_sizes.back() : small_bytes) {}

    [[nodiscard]] LinkRates measure() {
        LinkRates rates;
        for (const std::uint64_t bytes : message_sizes)
            rates.sizes.push_back({bytes, time([&] { there_and_back(bytes); }) / 2});
        rates.latency_us = rates.sizes.front().seconds * 1e6;
        rates.bytes_per_second = static_cast<double>(large_bytes * large_window) /
                                 time([&] { stream(large_bytes, large_window); });
        rates.messages_per_second =
            static_cast<double>(small_window) / time([&] { stream(small_bytes, small_window); });
        return rates;
    }

private:
    /// As the two of them see it: a barrier of all would be longer than a small message.
    template <class Round>
    double time(Round&& round) {
        double taken = 0;
        if (plays_) {
            round();  // warms up, and tells how long it takes
            const Duration start = now();
            round();
            const double first = std::max(to_seconds(now() - start), 1e-9);
            std::int64_t rounds =
                std::clamp(static_cast<std::int64_t>(std::min(seconds_ / first, 1e9)), least_rounds,
                           most_rounds);
            agree(rounds);
            std::vector<double> times;
            for (std::int64_t i = 0; i < rounds; ++i) {
                const Duration begun = now();
                round();
                times.push_back(to_seconds(now() - begun));
            }
            taken = std::max(middle(std::move(times)), 1e-9);
        }
        // The figure of the rank that asks: it begins and ends each round.
        std::int64_t told = asks_ ? static_cast<std::int64_t>(taken * 1e12) : -1;
        told = comm_.all_max(told);
        return static_cast<double>(told) * 1e-12;
    }
    /// The rank that asks says how many rounds there are.
    void agree(std::int64_t& rounds) {
        const std::span<std::int64_t> value(&rounds, 1);
        if (asks_) {
            comm_.send(peer_, bench_channel, Kind::control, std::span<const std::int64_t>(value))
                .wait();
        } else {
            comm_.receive(peer_, bench_channel, value).wait();
        }
    }
    void send(std::uint64_t bytes) {
        comm_.send(peer_, bench_channel, Kind::control, std::span<const std::byte>(part(bytes)))
            .wait();
    }
    void receive(std::uint64_t bytes) { comm_.receive(peer_, bench_channel, part(bytes)).wait(); }
    [[nodiscard]] std::span<std::byte> part(std::uint64_t bytes) {
        return std::span(memory_).first(bytes);
    }
    void there_and_back(std::uint64_t bytes) {
        asks_ ? send(bytes) : receive(bytes);
        asks_ ? receive(bytes) : send(bytes);
    }
    /// Many messages one way, and a small one back.
    void stream(std::uint64_t bytes, std::size_t messages) {
        std::vector<Request> requests;
        for (std::size_t i = 0; i < messages; ++i) {
            requests.push_back(asks_ ? comm_.send(peer_, bench_channel, Kind::control,
                                                  std::span<const std::byte>(part(bytes)))
                                     : comm_.receive(peer_, bench_channel, part(bytes)));
        }
        wait_all(requests);
        asks_ ? receive(small_bytes) : send(small_bytes);
    }

    Communicator comm_;
    int peer_;
    bool asks_;
    bool plays_;
    double seconds_;
    std::vector<std::byte> memory_;
};

/// Bytes per second that each rank sends to the one `shift` further on while all do; of the
/// slowest.
double rate_of_all(const Communicator& comm, int shift, double seconds) {
    const std::vector<std::byte> out(large_bytes);
    std::vector<std::byte> in(large_bytes);
    const int to = (comm.rank() + shift) % comm.size();
    const int from = (comm.rank() + comm.size() - shift) % comm.size();
    const double taken = time_rounds(comm, seconds, [&] {
        Request received = comm.receive(from, bench_channel, std::span<std::byte>(in));
        Request sent = comm.send(to, bench_channel, Kind::control, std::span<const std::byte>(out));
        received.wait();
        sent.wait();
    });
    return static_cast<double>(large_bytes) / taken;
}

/// The shift with which most ranks send to one of their own host, or to one of another.
int best_shift(const Communicator& comm, bool same_host) {
    int best = 1;
    int most = -1;
    for (int shift = 1; shift < comm.size(); ++shift) {
        int good = 0;
        for (int r = 0; r < comm.size(); ++r) {
            const bool same =
                comm.hosts().same(comm.global_rank(r), comm.global_rank((r + shift) % comm.size()));
            good += same == same_host ? 1 : 0;
        }
        if (good > most) {
            most = good;
            best = shift;
        }
    }
    return best;
}

ExchangeTime exchange(const Communicator& comm, std::uint64_t bytes, double skew, double seconds) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const SkewedBytes each = skewed_bytes(bytes, skew, comm.size());
    const std::uint64_t here = comm.rank() == 0 ? each.to_first : each.to_others;
    const std::vector<std::byte> out(std::max(each.to_first, each.to_others));
    std::vector<std::byte> in(here * ranks);
    std::vector<std::span<const std::byte>> from;
    std::vector<std::span<std::byte>> to;
    for (std::size_t r = 0; r < ranks; ++r) {
        const bool own = static_cast<int>(r) == comm.rank();
        from.push_back(std::span(out).first(own ? 0 : r == 0 ? each.to_first : each.to_others));
        to.push_back(std::span(in).subspan(r * here, own ? 0 : here));
    }
    const double taken = time_rounds(comm, seconds, [&] {
        comm.all_to_all(std::span<const std::span<const std::byte>>(from),
                        std::span<const std::span<std::byte>>(to));
    });
    return {bytes, skew, taken};
}

MessageTime sum(const Communicator& comm, std::uint64_t bytes, double seconds) {
    const std::vector<float> own(bytes / sizeof(float), 1.0F);
    std::vector<float> out(own.size());
    const auto index = static_cast<std::uint32_t>(comm.rank());
    OrderedReducer reducer(comm, std::span(&index, 1));
    const std::vector<std::span<const float>> contributions{own};
    const double taken = time_rounds(
        comm, seconds, [&] { reducer.reduce(contributions, out, Kind::control).wait(); });
    return {bytes, taken};
}

std::vector<std::string> host_names(const Communicator& comm) {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    const auto all = comm.all_gather(std::span<const char>(name));
    std::vector<std::string> names;
    for (int host = 0; host < comm.hosts().hosts(); ++host) {
        const int first = comm.group_rank(comm.hosts().members(host).front());
        names.emplace_back(all[static_cast<std::size_t>(first)].data());
    }
    return names;
}

}  // namespace

SkewedBytes skewed_bytes(std::uint64_t bytes, double skew, int ranks) {
    const auto all = static_cast<double>(bytes) * static_cast<double>(ranks);
    const double first = static_cast<double>(bytes) * skew;
    const double others = ranks < 2 ? 0 : (all - first) / static_cast<double>(ranks - 1);
    return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(std::max(others, 0.0))};
}

NetworkRates measure_network(const Communicator& comm, double seconds) {
    RUDDER_CHECK(comm.size() > 1);
    const double each = seconds / figures;
    NetworkRates rates;
    rates.hosts = host_names(comm);
    std::vector<int> shared;  // the first host of two ranks
    for (int host = 0; host < comm.hosts().hosts(); ++host) {
        const auto& members = comm.hosts().members(host);
        rates.ranks.push_back(members.size());
        if (shared.empty() && members.size() > 1) shared = members;
    }
    rates.barrier_us = time_rounds(comm, each, [&] { comm.barrier(); }) * 1e6;
    if (!shared.empty()) {
        rates.within =
            PairBench(comm, comm.group_rank(shared[0]), comm.group_rank(shared[1]), each).measure();
        rates.within->all_bytes_per_second = rate_of_all(comm, best_shift(comm, true), each);
    }
    if (comm.hosts().hosts() > 1) {
        const int first = comm.group_rank(comm.hosts().members(0).front());
        const int second = comm.group_rank(comm.hosts().members(1).front());
        rates.between = PairBench(comm, first, second, each).measure();
        rates.between->all_bytes_per_second = rate_of_all(comm, best_shift(comm, false), each);
    }
    for (const std::uint64_t bytes : exchange_sizes) {
        if (bytes * static_cast<std::uint64_t>(comm.size()) > most_exchanged) continue;
        for (const double skew : {1.0, std::min(exchange_skew, static_cast<double>(comm.size()))})
            rates.all_to_all.push_back(exchange(comm, bytes, skew, each));
    }
    for (const std::uint64_t bytes : sum_sizes)
        rates.reductions.push_back(sum(comm, bytes, each));
    return rates;
}

}  // namespace rudder::comm
