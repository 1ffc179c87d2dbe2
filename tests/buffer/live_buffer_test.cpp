// A buffer that ranks of one host share: what a member gets through the host's window.
#include "buffer/live_buffer.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "store/suite.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

constexpr std::uint32_t wide_row = 1U
                                   << 15U;  ///< a row takes 128 KiB: four make a piece of 512 KiB
constexpr std::uint64_t shared_steps = 3;

buffer::LiveBufferOptions shared_options(const partition::PartitionedDataset& data,
                                         buffer::SlotId slots) {
    buffer::LiveBufferOptions options{.policy = buffer::PolicySpec::parse("lru"), .slots = slots};
    options.last_step = shared_steps;
    options.vertices = data.info().vertices;
    options.local = {{data.book().range(0).begin, data.book().range(1).end}};
    options.parts = 2;
    return options;
}

/// Rows of the store that a step does not have as they are there.
std::uint64_t wrong_rows(const partition::PartitionedDataset& data,
                         const std::vector<VertexId>& vertices, const std::vector<float>& rows) {
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        const partition::Part part = data.part(data.book().owner(vertices[i]));
        const auto stored = part.features().row(vertices[i] - part.range().begin);
        wrong +=
            std::memcmp(rows.data() + i * wide_row, stored.data(), stored.size()) == 0 ? 0U : 1U;
    }
    return wrong;
}

/// Takes the same batch in every step. What each of them came to.
std::vector<Rows> take_steps(const comm::Communicator& comm, const store::FeatureStore& store,
                             const partition::PartitionedDataset& data,
                             const std::vector<VertexId>& batch, buffer::SlotId slots) {
    buffer::LiveBuffer buffer(comm, store, shared_options(data, slots));
    std::vector<Rows> counts;
    for (std::uint64_t number = 0; number < shared_steps; ++number) {
        sample::SampledStep step;
        step.step = number;
        step.batches.emplace_back().vertices.assign(batch.begin(), batch.end());
        buffer.publish(step);
        std::vector<float> rows(batch.size() * wide_row);
        const store::RowsWanted wanted{batch, rows};
        buffer::StepRows came_to;
        EXPECT_TRUE(buffer.assemble(buffer.begin(number), std::span(&wanted, 1), came_to));
        EXPECT_EQ(wrong_rows(data, batch, rows), 0U) << "rank " << comm.rank();
        counts.push_back(came_to.counts);
    }
    buffer.halt();
    EXPECT_EQ(buffer.finish(), Rows{});
    return counts;
}

/// Ranks 0 and 1 share a buffer, rank 2 has the rows. Rank 0 needs none of them, rank 1 all.
std::vector<Rows> counts_of_member(const partition::PartitionedDataset& data,
                                   buffer::SlotId slots) {
    std::vector<Rows> counts;
    comm::SimulatedCluster cluster({.ranks = 3, .ranks_per_host = 2, .seed = 4});
    cluster.run([&](const comm::Communicator& comm) {
        store::FeatureStore store(comm, data, {});
        std::vector<VertexId> batch;
        const auto range = data.book().range(comm.rank() == 0 ? 0 : 2);
        for (VertexId v = range.end; v-- > range.begin;)
            batch.push_back(v);
        if (comm.rank() == 0) take_steps(comm, store, data, batch, slots);
        if (comm.rank() == 1) counts = take_steps(comm, store, data, batch, slots);
        comm.barrier();
        store.stop();
    });
    return counts;
}

TEST(SharedBuffer, AMemberGetsItsRowsInPiecesAndEachStepCountsForItself) {
    const TempDir temp;
    const auto data = store_data(temp.path(), {.width = wide_row, .type = ElementType::f32}, 60, 3);
    const std::uint64_t rows = data.book().range(2).size();
    ASSERT_GT(rows, 8U) << "more than two pieces";
    const Rows missed{.needed = rows, .demand = rows};
    const Rows found{.needed = rows, .hit = rows};
    EXPECT_EQ(counts_of_member(data, 0), (std::vector<Rows>{missed, missed, missed}));
    EXPECT_EQ(counts_of_member(data, static_cast<buffer::SlotId>(rows)),
              (std::vector<Rows>{missed, found, found}));
}

}  // namespace
}  // namespace rudder::test
