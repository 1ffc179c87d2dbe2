// Distinct remote rows per batch with seeds in clustered against random order (4 METIS parts,
// fan-out 10,25): npm_deps at batch 2000 and debian_bookworm at batch 500.
//
//   bench_sample_order [CLUSTER_SIZE]
#include <cstdlib>

#include <fmt/format.h>

#include "sample/sampler.hpp"
#include "sample/schedule.hpp"

#include "bed.hpp"

namespace {

using namespace rudder;

/// Rows of other parts per batch, over three epochs.
double remote_rows(const partition::PartitionedDataset& data, const sample::NeighbourSource& source,
                   std::span<const partition::Part> parts, std::uint64_t batch_size,
                   sample::SeedOrder order) {
    const sample::Schedule schedule(comm::Communicator::local(), parts, data.parts(),
                                    {.batch = batch_size, .order = order});
    sample::NeighbourSampler sampler(source, {});
    sample::Batch batch;
    std::vector<VertexId> seeds;
    std::uint64_t remote = 0;
    std::uint64_t batches = 0;
    for (std::uint64_t step = 0; step < schedule.steps_per_epoch() * 3; ++step) {
        for (const partition::Part& part : parts) {
            schedule.seeds(part.id(), step, seeds);
            if (seeds.empty()) continue;
            sampler.sample({schedule.epoch_of(step), step, part.id()}, seeds, batch);
            ++batches;
            for (const VertexId v : batch.vertices)
                remote += part.range().contains(v) ? 0U : 1U;
        }
    }
    return static_cast<double>(remote) / static_cast<double>(batches);
}

void compare(const char* name, std::uint64_t batch, VertexId cluster_size, double target) {
    const bench::Bed bed(name, 4, cluster_size);
    const auto parts = bed.data().all_parts();
    const auto source =
        sample::make_replicated_source(comm::Communicator::local(), bed.data().book(), parts);
    const double random = remote_rows(bed.data(), *source, parts, batch, sample::SeedOrder::random);
    const double clustered =
        remote_rows(bed.data(), *source, parts, batch, sample::SeedOrder::clustered);
    fmt::print(
        "{} batch {}: random {:.0f}, clustered {:.0f} remote rows per batch: {:.1f} % fewer "
        "(wanted: {:.0f})\n",
        bed.name(), batch, random, clustered, 100 * (1 - clustered / random), target);
}

}  // namespace

int main(int argc, char** argv) {
    const VertexId cluster_size = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256;
    compare("npm_deps", 2000, cluster_size, 12);
    compare("debian_bookworm", 500, cluster_size, 17);
    return 0;
}
