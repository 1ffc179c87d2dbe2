// One rank under mpirun: brings the rows of many steps together, with and without a buffer, and
// counts what is allocated meanwhile.
//
//   steady_ranks FOLDER     (a partitioned data set with features)
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "buffer/live_buffer.hpp"
#include "comm/mpi_transport.hpp"
#include "rudder/core/random.hpp"

namespace {

/// What holds rows or ids is larger; what a message costs anyway is smaller.
constexpr std::size_t large = 4096;
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> allocations{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (bytes >= large && counting.load(std::memory_order_relaxed)) allocations.fetch_add(1);
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

// All containers of this program come here.
void* operator new(std::size_t bytes) {
    return allocate(bytes, 16);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, std::max<std::size_t>(16, static_cast<std::size_t>(alignment)));
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}

namespace rudder::test {
namespace {

constexpr std::uint64_t warm_up = 60;
constexpr std::uint64_t counted = 100;
constexpr std::size_t batch_vertices = 3000;
constexpr std::uint64_t known_ahead = 6;

/// Steps of one batch each, of the same size, drawn from all vertices alike.
std::vector<sample::SampledStep> draw_steps(VertexId vertices, int rank) {
    const RandomStream stream({Purpose::test, 77, 1});
    Draws draws(stream, static_cast<std::uint64_t>(rank));
    std::vector<VertexId> all(vertices);
    std::iota(all.begin(), all.end(), VertexId{0});
    std::vector<sample::SampledStep> steps(warm_up + counted);
    for (std::size_t s = 0; s < steps.size(); ++s) {
        steps[s].step = s;
        sample::Batch& batch = steps[s].batches.emplace_back();
        for (std::size_t i = 0; i < batch_vertices; ++i)
            std::swap(all[i], all[i + draws.below(all.size() - i)]);
        batch.vertices.assign(all.begin(), all.begin() + batch_vertices);
    }
    return steps;
}

void note(std::uint64_t step, const comm::Communicator& comm) {
    if (step != warm_up) return;
    comm.barrier();
    counting = true;
}

std::uint64_t pull_steps(const comm::Communicator& comm, const store::FeatureStore& store,
                         const std::vector<sample::SampledStep>& steps) {
    std::vector<float> rows(batch_vertices * store.format().width());
    allocations = 0;
    for (const sample::SampledStep& step : steps) {
        note(step.step, comm);
        const store::RowsWanted wanted{step.batches.front().vertices, rows, true};
        store.pull(std::span(&wanted, 1)).wait();
    }
    comm.barrier();
    counting = false;
    return allocations;
}

std::uint64_t buffer_steps(const comm::Communicator& comm, const store::FeatureStore& store,
                           const partition::PartitionedDataset& data,
                           const std::vector<sample::SampledStep>& steps) {
    std::vector<float> rows(batch_vertices * store.format().width());
    const auto own = data.book().range(static_cast<PartId>(comm.rank()));
    buffer::LiveBufferOptions options{.policy = buffer::PolicySpec::parse("window:4"),
                                      .slots = 1500};
    options.last_step = steps.size();
    options.vertices = data.info().vertices;
    options.local = {{own.begin, own.end}};
    buffer::LiveBuffer buffer(comm, store, std::move(options));
    allocations = 0;
    std::uint64_t published = 0;
    std::uint64_t landings = 0;
    for (const sample::SampledStep& step : steps) {
        note(step.step, comm);
        if (step.step == warm_up) landings = buffer.landing_bytes();
        while (published < steps.size() && published <= step.step + known_ahead)
            buffer.publish(steps[published++]);
        const store::RowsWanted wanted{step.batches.front().vertices, rows, true};
        buffer::StepRows counts;
        if (!buffer.assemble(buffer.begin(step.step), std::span(&wanted, 1), counts))
            throw std::runtime_error("the buffer was halted");
    }
    comm.barrier();
    counting = false;
    if (buffer.landing_bytes() != landings) throw std::runtime_error("landings have grown");
    static_cast<void>(buffer.finish());
    return allocations;
}

void run(const std::string& folder) {
    const comm::Communicator comm(comm::make_mpi_transport({.ranks_per_host = 1}));
    const partition::PartitionedDataset data(folder);
    store::FeatureStore store(comm, data, {});
    const auto steps = draw_steps(data.info().vertices, comm.rank());
    const std::uint64_t pulled = pull_steps(comm, store, steps);
    const std::uint64_t buffered = buffer_steps(comm, store, data, steps);
    fmt::print("rank {}: {} large allocations in {} pulls, {} in as many steps of a buffer\n",
               comm.rank(), pulled, counted, buffered);
    std::fflush(stdout);
    comm.barrier();
    store.stop();
}

}  // namespace
}  // namespace rudder::test

int main(int argc, char** argv) {
    const rudder::comm::MpiSession session;
    try {
        rudder::test::run(argc > 1 ? argv[1] : "");
    } catch (const std::exception& error) {
        fmt::print(stderr, "failed: {}\n", error.what());
        std::fflush(nullptr);
        std::_Exit(1);
    }
    return 0;
}
