// Random interleavings of look-ups, fetches and changes of the buffer: every row of every batch
// must be, bit for bit, what the store gives without a buffer.
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "partition/share.hpp"
#include "train/fixture.hpp"
#include "train/random_pilot.hpp"
#include "train/steps/pipeline.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> policies{"none",
                                        "static-degree",
                                        "static-random",
                                        "static-vip",
                                        "lru",
                                        "lfu",
                                        "clock",
                                        "periodic,delta:2",
                                        "scored,every:3",
                                        "scored-faithful,every:2",
                                        "window:1",
                                        "window:3",
                                        "window:16",
                                        "window:8,distance:4"};

/// Everything that is drawn for one run.
struct Scenario {
    comm::SimulationOptions cluster;
    buffer::BufferScope scope = buffer::BufferScope::host;
    std::string policy;
    buffer::SlotId slots = 0;
    std::uint64_t in_flight = 1;
    std::uint64_t window = 1;
    int tasks = 1;
    std::uint64_t steps = 12;
    std::uint64_t stop_after = 12;
    bool changes = false;
    bool piloted = false;
};

class SeedDraws {
public:
    explicit SeedDraws(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
    template <class T>
    const T& of(const std::vector<T>& list) {
        return list[below(list.size())];
    }

private:
    std::mt19937_64 engine_;
};

Scenario draw_scenario(std::uint64_t seed) {
    SeedDraws draws(seed);
    Scenario s;
    s.cluster.ranks = draws.below(2) == 0 ? 2 : 4;
    s.cluster.ranks_per_host = draws.below(3) == 0 ? 2 : 1;
    if (s.cluster.ranks == 2) s.cluster.ranks_per_host = 1;
    s.cluster.seed = seed;
    if (draws.below(2) == 0) s.cluster.link = {.delay = 50us, .bytes_per_second = 125e6};
    if (draws.below(2) == 0) s.cluster.jitter = 2ms;
    s.scope = draws.below(4) == 0 ? buffer::BufferScope::rank : buffer::BufferScope::host;
    s.policy = draws.of(policies);
    s.slots =
        static_cast<buffer::SlotId>(draws.of(std::vector<std::uint64_t>{0, 1, 3, 20, 60, 250}));
    s.in_flight = 1 + draws.below(4);
    s.window = 1 + draws.below(17);
    s.tasks = 1 + static_cast<int>(draws.below(3));
    s.stop_after = draws.below(5) == 0 ? 1 + draws.below(s.steps) : s.steps;
    s.changes = draws.below(2) == 0;
    s.piloted = draws.below(3) == 0;
    return s;
}

/// Facts about the rows around some parts, found the slow way.
buffer::LiveBufferOptions options_of(const comm::Communicator& comm,
                                     const partition::PartitionedDataset& data, const Scenario& s) {
    buffer::LiveBufferOptions options{.policy = buffer::PolicySpec::parse(s.policy)};
    options.slots = s.slots;
    options.scope = s.scope;
    options.last_step = s.steps;
    options.vertices = data.info().vertices;
    options.parts = 0;
    std::vector<bool> local(options.vertices, false);
    std::vector<bool> halo(options.vertices, false);
    std::vector<std::uint32_t> degree(options.vertices, 0);
    for (PartId p = 0; p < data.parts(); ++p) {
        const partition::Part part = data.part(p);
        const auto range = part.range();
        for (VertexId v = range.begin; v < range.end; ++v) {
            degree[v] = static_cast<std::uint32_t>(part.offsets()[v - range.begin + 1] -
                                                   part.offsets()[v - range.begin]);
        }
        const int rank = partition::rank_of(p, data.parts(), comm.size());
        const bool here = comm.hosts().same(rank, comm.rank());
        if (!here) continue;
        options.local.push_back({range.begin, range.end});
        std::fill_n(local.begin() + static_cast<std::ptrdiff_t>(range.begin), range.size(), true);
        if (s.scope == buffer::BufferScope::rank && rank != comm.rank()) continue;
        ++options.parts;
        for (const VertexId v : part.halo())
            halo[v] = true;
    }
    for (VertexId v = 0; v < options.vertices; ++v) {
        if (!halo[v] || local[v]) continue;
        options.facts.halo.push_back(v);
        options.facts.degree.push_back(degree[v]);
        options.facts.inclusion.push_back(1.0 / static_cast<double>(1 + v % 17));
    }
    return options;
}

void set_time(train::Pipeline& pipeline, std::uint64_t buffer::TimeKnobs::*knob,
              std::uint64_t value) {
    buffer::TimeKnobs times = pipeline.times();
    times.*knob = value;
    pipeline.set_times(times);
}

void change_something(train::Pipeline& pipeline, RandomPilot& pilot, buffer::LiveBuffer& buffer,
                      SeedDraws& draws, const Scenario& s) {
    switch (draws.below(13)) {
        case 0:
            return pilot.hand({.policy = buffer::PolicySpec::parse(draws.of(policies))});
        case 1:
            return pilot.hand({.capacity = static_cast<buffer::SlotId>(draws.below(s.slots + 2))});
        case 2:
            return pipeline.set_window(1 + draws.below(20));
        case 3:
            return set_time(pipeline, &buffer::TimeKnobs::bulk,
                            draws.of(std::vector<std::uint64_t>{0, 1, 7, 100}));
        case 4:
            return set_time(pipeline, &buffer::TimeKnobs::sample_threads, draws.below(5));
        case 5:
            return set_time(pipeline, &buffer::TimeKnobs::fetch_threads, draws.below(6));
        case 6:
            return buffer.limit(static_cast<buffer::SlotId>(draws.below(s.slots + 1)));
        case 7:
            return pipeline.look_ahead().set_max_bytes(1 + draws.below(100000));
        case 8:
            return set_time(pipeline, &buffer::TimeKnobs::in_flight, draws.below(6));
        case 9:
            return set_time(pipeline, &buffer::TimeKnobs::demand_first, 1 - draws.below(2));
        default:
            return;
    }
}

/// What a run checked and counted, over all ranks.
struct Tally {
    std::uint64_t rows = 0;
    std::uint64_t hits = 0;
    std::uint64_t wrong = 0;
    std::uint64_t fetched = 0;
    std::uint64_t feature_bytes = 0;
    std::uint64_t row_bytes = 0;
};

/// Rows of a step that differ from the store's.
void check_step(const train::AssembledStep& step, const store::FeatureStore& store, Tally& tally) {
    const std::size_t width = store.format().width();
    for (std::size_t b = 0; b < step.rows.size(); ++b) {
        const auto& vertices = step.sampled.batches[b].vertices;
        std::vector<float> right(vertices.size() * width);
        const store::RowsWanted wanted{vertices, right};
        store.pull(std::span(&wanted, 1), comm::Kind::evaluation).wait();
        tally.rows += vertices.size();
        for (std::size_t i = 0; i < vertices.size(); ++i) {
            tally.wrong += std::memcmp(right.data() + i * width, step.rows[b].data() + i * width,
                                       width * sizeof(float)) == 0
                               ? 0U
                               : 1U;
        }
    }
}

/// Called after every step of every rank.
using StepWatch = std::function<void(std::uint64_t step, RandomPilot&, const buffer::LiveBuffer&)>;

void run_rank(const comm::Communicator& comm, const partition::PartitionedDataset& data,
              const Scenario& s, Tally& tally, const StepWatch& watch = {}) {
    std::vector<partition::Part> parts;
    sample::LookAheadOptions ahead{
        .window = s.window, .last_step = s.steps, .tasks = s.tasks, .most_tasks = 3};
    const partition::PartShare share = partition::share_of(data.parts(), comm.size(), comm.rank());
    for (PartId p = share.first; p < share.last; ++p) {
        parts.push_back(data.part(p));
        ahead.parts.push_back(p);
    }
    const sample::Schedule schedule(comm, parts, data.parts(),
                                    {.batch = 16, .seed = s.cluster.seed});
    const auto source = sample::make_replicated_source(comm, data.book(), parts);
    store::FeatureStore store(comm, data, {});
    buffer::LiveBufferOptions options = options_of(comm, data, s);
    RandomPilot pilot(s.cluster.seed, policies, s.piloted);
    if (s.piloted || s.changes) options.pilot = &pilot;
    buffer::LiveBuffer buffer(comm, store, std::move(options));
    Rows counts;
    {
        ahead.window =
            std::max(ahead.window, buffer::horizon_of(buffer::PolicySpec::parse(s.policy)));
        train::Pipeline pipeline(schedule, *source, store,
                                 {.fanout = {3, 4}, .seed = s.cluster.seed}, ahead, s.in_flight,
                                 &buffer);
        SeedDraws draws(s.cluster.seed + 1);  // the same on all ranks
        for (std::uint64_t step = 0; step < s.stop_after; ++step) {
            train::AssembledStep& assembled = pipeline.next();
            check_step(assembled, store, tally);
            counts += assembled.counts;
            pipeline.release();
            if (watch) {
                watch(step, pilot, buffer);
            } else if (s.changes) {
                change_something(pipeline, pilot, buffer, draws, s);
            }
        }
        counts += pipeline.stop();
    }
    comm.barrier();
    source->stop();
    store.stop();
    tally.hits += counts.hit;
    tally.fetched += counts.demand + counts.replacement + counts.ahead;
    tally.feature_bytes += comm.accounts().received[static_cast<std::size_t>(comm::Kind::features)];
    tally.row_bytes = store.format().row_bytes();
    EXPECT_EQ(counts.needed, counts.local + counts.hit + counts.demand);
    if ((s.piloted || s.changes) && buffer.first()) {
        EXPECT_GE(pilot.taken(), s.stop_after);
    }
}

void expect_interleavings(std::uint64_t first, std::uint64_t count) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    std::uint64_t rows = 0;
    std::uint64_t hits = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const Scenario s = draw_scenario(seed);
        Tally tally;
        comm::SimulatedCluster machines(s.cluster);
        machines.run([&](const comm::Communicator& comm) { run_rank(comm, data, s, tally); });
        ASSERT_EQ(tally.wrong, 0U) << "seed " << seed << ", " << s.policy;
        ASSERT_EQ(tally.fetched * tally.row_bytes, tally.feature_bytes)
            << "seed " << seed << ", " << s.policy;
        rows += tally.rows;
        hits += tally.hits;
    }
    EXPECT_GT(hits, rows / 100);
    std::printf("%lu interleavings, %lu rows compared, %lu of them hits\n",
                static_cast<unsigned long>(count), static_cast<unsigned long>(rows),
                static_cast<unsigned long>(hits));
}

TEST(Interleavings, MembersLookAsFarAheadAsTheFirstRankWants) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        Scenario s{.cluster = {.ranks = 4, .ranks_per_host = 2, .seed = seed},
                   .policy = "window:2",
                   .slots = 60,
                   .in_flight = 2,
                   .steps = 60,
                   .stop_after = 40,
                   .changes = true};
        Tally tally;
        std::vector<std::uint64_t> ends;
        comm::SimulatedCluster machines(s.cluster);
        machines.run([&](const comm::Communicator& comm) {
            run_rank(comm, data, s, tally,
                     [&](std::uint64_t step, RandomPilot& pilot, const buffer::LiveBuffer& buffer) {
                         if (step == 5)
                             pilot.hand({.policy = buffer::PolicySpec::parse("window:12")});
                         if (step == 20) ends.push_back(buffer.steps_ahead());
                         if (step == 21)
                             pilot.hand({.policy = buffer::PolicySpec::parse("window:3")});
                         if (step == 39) ends.push_back(buffer.steps_ahead() + 100);
                     });
        });
        EXPECT_EQ(tally.wrong, 0U);
        std::ranges::sort(ends);
        EXPECT_EQ(ends, (std::vector<std::uint64_t>{12, 12, 12, 12, 103, 103, 103, 103})) << seed;
    }
}

TEST(Interleavings, ASampleOfForty) {
    expect_interleavings(0, 40);
}

TEST(LongInterleavings, AThousand) {
    expect_interleavings(1000, 1000);
}

}  // namespace
}  // namespace rudder::test
