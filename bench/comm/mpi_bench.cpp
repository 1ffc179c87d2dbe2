// The MPI body beside its models: run by mpirun, one figure per name given.
//
//   ranks_comm_mpi link         2 ranks: a modelled link beside the model
//   ranks_comm_mpi window       2 ranks: rows read from a shared window beside private memory
//   ranks_comm_mpi all-to-all   4 ranks: ours beside MPI_Alltoall
//   ranks_comm_mpi reduce       4 ranks: ours beside MPI_Allreduce
//
// The two sides of a ratio take turns in one run; each is a median.
#include <cstring>
#include <map>
#include <numeric>

#include <mpi.h>

#include "comm/mpi_transport.hpp"
#include "comm/reduction.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/random.hpp"

#include "figures.hpp"

namespace {

using namespace rudder;
using bench::median;
using bench::seconds;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// One-way times of messages over a link of 100 us and 1 Gbit/s; both ranks read one clock.
void link_figure() {
    const comm::LinkModel model = comm::parse_link("100us,1gbit");
    const comm::Communicator comm(comm::make_mpi_transport({.link = model}));
    for (const std::size_t size : {std::size_t{8}, mebibyte / 16, mebibyte}) {
        std::vector<std::byte> bytes(size);
        std::vector<double> times;
        for (int i = 0; i < 50; ++i) {
            comm.barrier();
            const std::span all(bytes);
            if (comm.rank() == 0) {
                const double start = seconds();
                std::memcpy(bytes.data(), &start, sizeof(start));
                comm.send(1, comm::user_channels, comm::Kind::features,
                          std::span<const std::byte>(all))
                    .wait();
            } else {
                comm.receive(0, comm::user_channels, all).wait();
                double start = 0;
                std::memcpy(&start, bytes.data(), sizeof(start));
                times.push_back(seconds() - start);
            }
        }
        if (comm.rank() != 1) continue;
        const double expected =
            std::chrono::duration<double>(model.delay + model.transfer(size)).count();
        const double measured = median(times);
        const double off = (measured / expected - 1) * 100;
        bench::report(fmt::format("link 100us,1gbit: {} bytes, off the model", size), off,
                      "percent", "<= 5", std::abs(off) <= 5,
                      fmt::format("model {:.1f} us, median of 50 {:.1f} us, 95th {:.1f} us",
                                  expected * 1e6, measured * 1e6, times[47] * 1e6));
    }
}

/// Seconds to add up `count` random rows of 128 floats.
double read_rows(std::span<const float> table, const std::vector<std::uint32_t>& rows, float& sum) {
    const double start = seconds();
    std::array<float, 128> total{};
    for (const std::uint32_t row : rows) {
        const float* from = table.data() + std::size_t{row} * total.size();
        for (std::size_t i = 0; i < total.size(); ++i)
            total[i] += from[i];
    }
    sum += std::accumulate(total.begin(), total.end(), 0.0F);
    return seconds() - start;
}

/// Rank 0 has filled the window, rank 1 reads it; a table of its own is filled the same way.
void window_figure() {
    const comm::Communicator comm(comm::make_mpi_transport({}));
    constexpr std::size_t row_count = std::size_t{1} << 20;  // of 512 bytes: 512 MiB
    const auto window = comm.share<float>(row_count * 128);
    if (comm.rank() == 0) std::fill(window->begin(), window->end(), 1.0F);
    comm.barrier();
    if (comm.rank() == 1) {
        std::vector<float> own(row_count * 128, 1.0F);
        std::vector<double> shared_times;
        std::vector<double> private_times;
        std::vector<double> ratios;
        float sum = 0;
        std::vector<std::uint32_t> rows(500'000);
        for (std::uint64_t i = 0; i < 10; ++i) {
            const RandomStream stream({.purpose = Purpose::test, .seed = i});
            Draws draws(stream, 0);
            for (auto& row : rows)
                row = static_cast<std::uint32_t>(draws.below(row_count));
            const double shared = read_rows(*window, rows, sum);
            const double mine = read_rows(own, rows, sum);
            if (i == 0) continue;  // the first touches the window's pages
            shared_times.push_back(shared);
            private_times.push_back(mine);
            ratios.push_back(mine / shared);
        }
        const double ratio = median(ratios) * 100;
        const double count = static_cast<double>(rows.size());
        bench::report("shared window, random 512-byte rows, of private", ratio, "percent", ">= 60",
                      ratio >= 60,
                      fmt::format("{:.2f} and {:.2f} million rows per second, 512 MiB, sum {}",
                                  count / median(shared_times) / 1e6,
                                  count / median(private_times) / 1e6, sum));
    }
    comm.barrier();
}

/// Runs both sides in turn on all ranks and reports the median ratio of the slowest rank's times.
/// `prepare(comm)` gives our side; its transport lives for our turn only, since its thread would
/// call MPI beside the bare side: that slows it, and the session does not allow it.
template <class Prepare, class Bare>
void compare(const std::string& what, double target, const Prepare& prepare, const Bare& bare) {
    constexpr int rounds = 21;
    constexpr int inner = 20;
    const auto timed = [](const auto& f) {
        const double start = seconds();
        for (int i = 0; i < inner; ++i)
            f();
        return (seconds() - start) / inner;
    };
    const auto slowest = [](double time) {
        MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        return time;
    };
    const auto our_turn = [&] {
        const comm::Communicator comm(comm::make_mpi_transport({}));
        const auto ours = prepare(comm);
        ours();
        comm.barrier();
        const double time = timed(ours);
        comm.barrier();
        return time;
    };
    const auto bare_turn = [&] {
        bare();
        MPI_Barrier(MPI_COMM_WORLD);
        return timed(bare);
    };
    std::vector<double> ratios;
    std::vector<double> ours_times;
    std::vector<double> bare_times;
    for (int round = 0; round < rounds; ++round) {
        ours_times.push_back(slowest(our_turn()));
        bare_times.push_back(slowest(bare_turn()));
        ratios.push_back(ours_times.back() / bare_times.back());
    }
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank != 0) return;
    const double ratio = median(ratios);
    bench::report(what, ratio, "times", fmt::format("<= {}", target), ratio <= target,
                  fmt::format("ours {:.0f} us, bare {:.0f} us, {} ranks, median of {}",
                              median(ours_times) * 1e6, median(bare_times) * 1e6, ranks, rounds));
}

void all_to_all_figure() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::size_t block = mebibyte / static_cast<std::size_t>(ranks);
    std::vector<std::byte> out(mebibyte, std::byte{1});
    std::vector<std::byte> in(mebibyte);
    std::vector<std::span<const std::byte>> from;
    std::vector<std::span<std::byte>> into;
    for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r) {
        from.push_back(std::span<const std::byte>(out).subspan(r * block, block));
        into.push_back(std::span(in).subspan(r * block, block));
    }
    compare(
        "all-to-all of 1 MiB per rank, of MPI_Alltoall", 1.3,
        [&](const comm::Communicator& comm) {
            return [&from, &into, comm] {
                comm.all_to_all(std::span<const std::span<const std::byte>>(from),
                                std::span<const std::span<std::byte>>(into));
            };
        },
        [&] {
            MPI_Alltoall(out.data(), static_cast<int>(block), MPI_BYTE, in.data(),
                         static_cast<int>(block), MPI_BYTE, MPI_COMM_WORLD);
        });
}

void reduce_figure() {
    const std::vector<float> in(mebibyte / sizeof(float), 1.0F);
    std::vector<float> out(in.size());
    compare(
        "ordered reduction of 1 MiB, of MPI_Allreduce", 1.5,
        [&](const comm::Communicator& comm) {
            const auto mine = static_cast<std::uint32_t>(comm.rank());
            auto reducer = std::make_shared<comm::OrderedReducer>(comm, std::span(&mine, 1));
            return [&in, &out, reducer] { reducer->reduce({in}, out).wait(); };
        },
        [&] {
            MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM,
                          MPI_COMM_WORLD);
        });
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string, void (*)()> figures{{"link", link_figure},
                                                    {"window", window_figure},
                                                    {"all-to-all", all_to_all_figure},
                                                    {"reduce", reduce_figure}};
    const auto figure = figures.find(argc == 2 ? argv[1] : "");
    if (figure == figures.end()) {
        fmt::print(stderr, "mpi_bench: name one figure: link, window, all-to-all or reduce\n");
        return 2;
    }
    const comm::MpiSession session;
    figure->second();
    return 0;
}
