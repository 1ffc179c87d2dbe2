// The floor that is counted as steps come, against the rule that sees the whole future; and how
// much memory replays of long traces take.
#include "buffer/floor.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "buffer/trace_window.hpp"
#include "buffer/trace_writer.hpp"
#include "rudder/buffer/replay.hpp"

#include "naive.hpp"
#include "random_trace.hpp"
#include "support/counted_heap.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

/// What `optimal` fetches in each step, all of them published before the first.
std::vector<std::uint64_t> clairvoyant(const buffer::HostTrace& trace, buffer::SlotId capacity) {
    buffer::IdBuffer optimal(buffer::PolicySpec::parse("optimal"), trace.facts(), capacity,
                             capacity);
    buffer::TraceWindow steps(trace);
    for (std::uint64_t s = 0; s < trace.steps(); ++s)
        optimal.publish(s, steps.step(s));
    std::vector<std::uint64_t> fetched;
    std::uint64_t before = 0;
    for (std::uint64_t s = 0; s < trace.steps(); ++s) {
        optimal.advance();
        fetched.push_back(optimal.accounts().fetched() - before);
        before = optimal.accounts().fetched();
    }
    return fetched;
}

std::vector<std::uint64_t> counted_floor(const buffer::HostTrace& trace, std::uint64_t capacity) {
    std::vector<std::uint64_t> fetched;
    const Rows rows = buffer::floor_rows(
        trace, capacity, [&](std::uint64_t of_step) { fetched.push_back(of_step); });
    EXPECT_EQ(rows.steps, trace.steps());
    EXPECT_EQ(rows.needed, trace.needed());
    EXPECT_EQ(rows.needed, rows.hit + rows.demand);
    EXPECT_EQ(rows.replacement + rows.ahead + rows.wasted, 0U);
    return fetched;
}

TEST(Floor, OfEveryStepIsThatOfTheRuleThatSeesTheFuture) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const TraceShape shape{.vertices = 10 + seed * 7 % 150,
                               .steps = 1 + seed * 11 % 90,
                               .largest_step = 1 + seed * 5 % 40};
        const auto trace = random_trace(seed, shape).host();
        for (const buffer::SlotId capacity : {0U, 1U, 2U, 3U, 5U, 9U, 20U, 50U, 200U})
            ASSERT_EQ(counted_floor(*trace, capacity), clairvoyant(*trace, capacity))
                << "seed " << seed << ", capacity " << capacity;
    }
}

TEST(Floor, NoContentsOfTheBufferNeedFewerRows) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const PlainTrace plain = random_trace(seed, {6, 8, 4});
        const auto trace = plain.host();
        for (const std::uint64_t capacity : {0U, 1U, 2U, 3U, 4U})
            EXPECT_EQ(buffer::floor_rows(*trace, capacity).fetched(), least_rows(plain, capacity))
                << "seed " << seed << ", capacity " << capacity;
    }
}

TEST(Floor, OfStepsThatAreSettledIsForgotten) {
    // Three thousand steps, most of them full; and stretches that need less than there is room for.
    const RandomStream stream({Purpose::test, 77});
    Draws draws(stream, 0);
    PlainTrace plain;
    plain.vertices = 400;
    for (int s = 0; s < 3000; ++s) {
        std::vector<VertexId> step;
        const std::uint64_t spread = s / 200 % 2 == 0 ? 400 : 30;
        for (VertexId v = draws.below(12); v < spread; v += 1 + draws.below(40))
            step.push_back(v);
        plain.steps.push_back(std::move(step));
    }
    plain.listed.assign(plain.steps.size(), 0);
    const auto trace = plain.host();
    for (const buffer::SlotId capacity : {4U, 40U, 150U, 390U, 400U})
        ASSERT_EQ(counted_floor(*trace, capacity), clairvoyant(*trace, capacity)) << capacity;
}

TEST(Floor, OfGoldenTracesIsThatOfTheRuleThatSeesTheFuture) {
    const std::filesystem::path folder =
        std::filesystem::path(RUDDER_SOURCE_DIR) / "tests" / "data" / "golden";
    for (const char* name : {"debian_500.npz", "physics_500.npz", "npm_1000.npz"}) {
        const buffer::Trace trace = buffer::read_trace(folder / name);
        for (const double fraction : {0.05, 0.25}) {
            const auto capacity =
                static_cast<buffer::SlotId>(buffer::BufferSize{fraction, 0}.of(trace[0]->halo()));
            EXPECT_EQ(counted_floor(*trace[0], capacity), clairvoyant(*trace[0], capacity))
                << name << ", " << fraction;
        }
    }
}

// ---- memory ------------------------------------------------------------------------------------

/// A written trace of so many steps of 200 rows each, of 2000.
buffer::Trace long_trace(const TempDir& folder, std::uint64_t steps) {
    const RandomStream stream({Purpose::test, steps});
    Draws draws(stream, 0);
    buffer::TraceHeader header;
    header.vertices = 4000;
    header.capacity = 500;
    header.graph = "0123456789abcdef";
    std::vector<VertexId> halo(1500);
    for (std::size_t i = 0; i < halo.size(); ++i)
        halo[i] = 2 * i;
    const std::filesystem::path path = folder / fmt::format("{}", steps);
    buffer::TraceWriter writer(path, header, halo, {}, {});
    std::vector<VertexId> step(200);
    for (std::uint64_t s = 0; s < steps; ++s) {
        const std::uint64_t shift = draws.below(20);
        for (std::size_t i = 0; i < step.size(); ++i)
            step[i] = i * 20 + (shift + i * draws.below(2)) % 20;
        writer.step(step);
    }
    writer.finish();
    return buffer::read_trace(path);
}

/// The most memory held meanwhile beyond what was held before.
template <class Body>
std::uint64_t peak_of(const Body& body) {
    restart_peak();
    const std::uint64_t before = heap_counts().bytes;
    body();
    return heap_counts().peak - before;
}

TEST(Memory, OfReplaysDoesNotGrowWithTheSteps) {
    const TempDir folder;
    // Reading has an offset and a decision per step, 200 ids of 4 bytes each otherwise.
    const auto peaks = [&](std::uint64_t steps) {
        std::vector<std::uint64_t> found;
        buffer::Trace trace;
        found.push_back(peak_of([&] { trace = long_trace(folder, steps); }) - steps * 16);
        for (const char* text : {"optimal", "window:16", "lru", "scored,every:4"}) {
            const std::vector<buffer::ReplayCase> cases{
                {buffer::PolicySpec::parse(text), {std::nullopt, 500}}};
            found.push_back(peak_of([&] { static_cast<void>(buffer::replay(trace, cases)); }));
        }
        found.push_back(peak_of([&] { static_cast<void>(buffer::floor_steps(trace)); }) -
                        steps * 2 * sizeof(double));
        return found;
    };
    const auto once = peaks(6000);  // what is written is buffered up to a limit
    const auto twice = peaks(12000);
    for (std::size_t i = 0; i < once.size(); ++i)
        EXPECT_LE(static_cast<double>(twice[i]), 1.1 * static_cast<double>(once[i])) << i;
}

TEST(Memory, OfTheCountedFloorIsFourBytesPerRow) {
    buffer::FloorCounter floor(100);
    std::vector<buffer::RowKey> rows(500);
    std::uint64_t after_first = 0;
    for (std::uint64_t s = 0; s < 20'000; ++s) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i] = static_cast<buffer::RowKey>((s * 37 + i * 3) % 10'000);
        floor.step(rows, 10'000);
        if (s == 5000) after_first = floor.bytes();
    }
    EXPECT_EQ(floor.bytes(), after_first);
    EXPECT_LE(after_first, 10'000 * 4 + 4096 * 16 + 4096);
}

}  // namespace
}  // namespace rudder::test
