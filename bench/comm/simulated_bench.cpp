// The simulated body: messages per second on one core, and an exchange of many ranks.
#include "comm/simulated_cluster.hpp"

#include "figures.hpp"

namespace {

using namespace rudder;
using namespace std::chrono_literals;
using bench::seconds;

constexpr int repetitions = 7;

/// `ranks` ranks in a ring; each sends `rounds` letters of 64 bytes and receives as many, one by
/// one. Returns messages per second.
double ring(int ranks, int rounds, const comm::LinkModel& link) {
    comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1, .link = link});
    const double start = seconds();
    cluster.run([rounds](const comm::Communicator& comm) {
        const std::vector<std::byte> out(64);
        std::vector<std::byte> in(64);
        const int next = (comm.rank() + 1) % comm.size();
        const int before = (comm.rank() + comm.size() - 1) % comm.size();
        for (int i = 0; i < rounds; ++i) {
            comm::Request sent = comm.send(next, comm::user_channels, comm::Kind::features,
                                           std::span<const std::byte>(out));
            comm.receive(before, comm::user_channels, std::span(in)).wait();
            sent.wait();
        }
    });
    return static_cast<double>(cluster.messages()) / (seconds() - start);
}

/// Seconds for one all-to-all of 64 bytes for each pair, the making of the cluster included.
double exchange(int ranks) {
    const double start = seconds();
    comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        const comm::PerRank<std::uint64_t> out(static_cast<std::size_t>(comm.size()),
                                               std::vector<std::uint64_t>(8));
        static_cast<void>(comm.all_to_all(out));
    });
    return seconds() - start;
}

template <class F>
double repeat(const F& f) {
    std::vector<double> values;
    for (int i = 0; i < repetitions; ++i)
        values.push_back(f());
    return bench::median(values);
}

}  // namespace

int main() {
    const comm::LinkModel none;
    const comm::LinkModel link{.delay = 100us, .bytes_per_second = 125e6};
    const double plain = repeat([&] { return ring(8, 20000, none); });
    bench::report("simulated messages, 8 ranks in a ring", plain, "per second", ">= 500000",
                  plain >= 5e5, "64 bytes, no link, median of 7");
    const double linked = repeat([&] { return ring(8, 20000, link); });
    bench::report("simulated messages, the same over a link", linked, "per second", ">= 500000",
                  linked >= 5e5, "100us,1gbit, median of 7");
    const double all = repeat([] { return exchange(256); });
    bench::report("simulated all-to-all of 256 ranks", all, "seconds", "< 2", all < 2,
                  fmt::format("{} messages, median of 7", 256 * 255));
    return 0;
}
