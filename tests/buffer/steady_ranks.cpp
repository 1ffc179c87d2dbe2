// One rank under mpirun: brings the rows of many steps together, with and without a buffer, and
// counts what is allocated meanwhile.
//
//   steady_ranks FOLDER     (a partitioned data set with features)
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "buffer/live_buffer.hpp"
#include "comm/mpi_transport.hpp"
#include "rudder/core/random.hpp"

namespace {

/// What holds rows, or the ids of a step, is larger; a question that comes in (4 bytes per row of
/// one message) is smaller.
constexpr std::size_t large = 8192;
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
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
    try {
        return allocate(bytes, 16);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
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

constexpr std::uint64_t warm_up = 400;
/// Steps of a stretch. How many messages are under way at once depends on the moment, so several
/// stretches are counted: one of them is to be free of it.
constexpr std::uint64_t counted = 100;
constexpr std::uint64_t stretches = 4;
constexpr std::size_t batch_vertices = 3000;
constexpr std::uint64_t known_ahead = 6;

/// Steps of one batch each, of the same size, drawn from all vertices alike.
std::vector<sample::SampledStep> draw_steps(VertexId vertices, int rank) {
    const RandomStream stream({Purpose::test, 77, 1});
    Draws draws(stream, static_cast<std::uint64_t>(rank));
    std::vector<VertexId> all(vertices);
    std::iota(all.begin(), all.end(), VertexId{0});
    std::vector<sample::SampledStep> steps(warm_up + stretches * counted);
    for (std::size_t s = 0; s < steps.size(); ++s) {
        steps[s].step = s;
        sample::Batch& batch = steps[s].batches.emplace_back();
        for (std::size_t i = 0; i < batch_vertices; ++i)
            std::swap(all[i], all[i + draws.below(all.size() - i)]);
        batch.vertices.assign(all.begin(), all.begin() + batch_vertices);
    }
    return steps;
}

/// The fewest allocations of a stretch.
class Stretches {
public:
    explicit Stretches(const comm::Communicator& comm) : comm_(comm) {}
    void before(std::uint64_t step) {
        if (step < warm_up || (step - warm_up) % counted != 0) return;
        end();
        counting = true;
    }
    std::uint64_t end() {
        comm_.barrier();
        if (counting.exchange(false)) least_ = std::min(least_, allocations.load());
        allocations = 0;
        return least_;
    }

private:
    const comm::Communicator& comm_;
    std::uint64_t least_ = std::numeric_limits<std::uint64_t>::max();
};

std::uint64_t pull_steps(const comm::Communicator& comm, const store::FeatureStore& store,
                         const std::vector<sample::SampledStep>& steps) {
    std::vector<float> rows(batch_vertices * store.format().row_floats());
    Stretches counts(comm);
    for (const sample::SampledStep& step : steps) {
        counts.before(step.step);
        const store::RowsWanted wanted{step.batches.front().vertices, rows, true};
        store.pull(std::span(&wanted, 1)).wait();
    }
    return counts.end();
}

std::uint64_t buffer_steps(const comm::Communicator& comm, const store::FeatureStore& store,
                           const partition::PartitionedDataset& data,
                           const std::vector<sample::SampledStep>& steps) {
    std::vector<float> rows(batch_vertices * store.format().row_floats());
    const auto own = data.book().range(static_cast<PartId>(comm.rank()));
    buffer::LiveBufferOptions options{.policy = buffer::PolicySpec::parse("window:4"),
                                      .slots = 1500};
    options.last_step = steps.size() + 1000;  // at its end a run keeps less and less
    options.vertices = data.info().vertices;
    options.local = {{own.begin, own.end}};
    buffer::LiveBuffer buffer(comm, store, std::move(options));
    Stretches counts(comm);
    std::uint64_t published = 0;
    for (const sample::SampledStep& step : steps) {
        counts.before(step.step);
        while (published < steps.size() && published <= step.step + known_ahead)
            buffer.publish(steps[published++]);
        const store::RowsWanted wanted{step.batches.front().vertices, rows, true};
        buffer::StepRows came_to;
        if (!buffer.assemble(buffer.begin(step.step), std::span(&wanted, 1), came_to))
            throw std::runtime_error("the buffer was halted");
    }
    const std::uint64_t least = counts.end();
    static_cast<void>(buffer.finish());
    return least;
}

void run(const std::string& folder, const store::StoreOptions& options) {
    const comm::Communicator comm(comm::make_mpi_transport({.ranks_per_host = 1}));
    const partition::PartitionedDataset data(folder);
    store::FeatureStore store(comm, data, options);
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
        rudder::store::StoreOptions options;
        if (argc > 2) {
            options.sparse = rudder::store::SparseChoice::on;
            options.assembled = rudder::store::AssembledRows::sparse;
        }
        rudder::test::run(argc > 1 ? argv[1] : "", options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "failed: {}\n", error.what());
        std::fflush(nullptr);
        std::_Exit(1);
    }
    return 0;
}
