// Pulls of random remote rows, on all ranks at once, beside the wire: run by mpirun or on the
// emulated cluster, 4 ranks.
//
//   ranks_store_pull FOLDER [LINK [IN_FLIGHT]]
//
// FOLDER is for the data set, which is made there if it is not. With LINK (100us,1gbit) the ranks
// are hosts of their own over a modelled link.
#include <ctime>
#include <deque>
#include <optional>

#include "comm/figures.hpp"
#include "comm/mpi_transport.hpp"
#include "store/feature_store.hpp"

#include "store_data.hpp"
#include "support/all_sum.hpp"

namespace {

using namespace rudder;
using bench::bench_width;
using bench::seconds;

constexpr VertexId vertices = 200'000;
constexpr std::size_t pull_rows = 20'000;  // 10 MB: 82 ms of a wire of 1 Gbit/s
constexpr int pulls = 24;
constexpr int warm_up = 4;
constexpr double wire = 125e6;

struct Batch {
    std::vector<VertexId> ids;
    std::vector<float> rows;
    store::RowsWanted wanted;
    std::optional<store::Pull> pull;
};

/// Rows of other hosts only.
std::vector<VertexId> remote_vertices(const store::FeatureStore& store, std::uint64_t seed) {
    std::vector<VertexId> ids;
    for (const VertexId v : bench::random_vertices(seed, 2 * pull_rows, 0, vertices)) {
        if (!store.local(v) && ids.size() < pull_rows) ids.push_back(v);
    }
    return ids;
}

/// Bytes of rows received by a rank and seconds, with `in_flight` pulls under way at a time.
void measure(const comm::Communicator& comm, const store::FeatureStore& store,
             std::size_t in_flight) {
    std::vector<Batch> batches(static_cast<std::size_t>(pulls + warm_up));
    for (std::size_t i = 0; i < batches.size(); ++i) {
        Batch& batch = batches[i];
        batch.ids = remote_vertices(store, i * 100 + static_cast<std::uint64_t>(comm.rank()));
        batch.rows.resize(batch.ids.size() * bench_width);
        batch.wanted = {batch.ids, batch.rows};
    }
    double start = 0;
    double cpu = 0;
    std::uint64_t bytes = 0;
    std::deque<Batch*> under_way;
    const auto finish = [&] {
        bytes += under_way.front()->pull->wait().rows.demand * store.format().row_bytes();
        under_way.pop_front();
    };
    for (std::size_t i = 0; i < batches.size(); ++i) {
        if (i == warm_up) {
            while (!under_way.empty())
                finish();
            comm.barrier();
            start = seconds();
            cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
            bytes = 0;
        }
        if (under_way.size() == in_flight) finish();
        batches[i].pull.emplace(store.pull({&batches[i].wanted, 1}));
        under_way.push_back(&batches[i]);
    }
    while (!under_way.empty())
        finish();
    const double mine = seconds() - start;
    comm.barrier();
    const double all = seconds() - start;
    cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC - cpu;
    const auto total = static_cast<double>(test::all_sum(comm, static_cast<std::int64_t>(bytes)));
    const double rate = total / comm.size() / all;
    const auto cpu_ms = test::all_sum(comm, static_cast<std::int64_t>(cpu * 1000));
    if (comm.rank() != 0) return;
    bench::report(fmt::format("pull of remote rows, {} in flight, of the wire", in_flight),
                  rate / wire * 100, "percent", ">= 75", rate / wire >= 0.75,
                  fmt::format("{:.1f} MB/s of rows per rank ({} ranks, {} hosts), rank 0 alone "
                              "{:.1f}; {:.2f} cores per rank",
                              rate / 1e6, comm.size(), comm.hosts().hosts(),
                              static_cast<double>(bytes) / mine / 1e6,
                              static_cast<double>(cpu_ms) / 1000 / all / comm.size()));
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.empty()) {
        fmt::print(stderr, "pull_bench: name a folder for its data set\n");
        return 2;
    }
    const comm::MpiSession session;
    comm::MpiOptions options;
    if (arguments.size() > 1 && !arguments[1].empty())
        options.link = comm::parse_link(arguments[1]);
    const comm::Communicator comm(comm::make_mpi_transport(options));
    const std::filesystem::path folder = arguments[0];
    if (comm.rank() == 0 && !std::filesystem::exists(folder / "parts"))
        bench::make_store_data(folder, vertices);
    comm.barrier();
    const partition::PartitionedDataset data(folder / "parts");
    store::FeatureStore store(comm, data, {store::Precision::native, store::Shards::shared});
    if (arguments.size() > 2) {
        measure(comm, store, std::stoull(arguments[2]));
    } else {
        measure(comm, store, 1);
        measure(comm, store, 2);
    }
    store.stop();
    return 0;
}
