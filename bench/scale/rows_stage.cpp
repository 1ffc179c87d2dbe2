// Feature rows at size: own ones beside plain copies of as many bytes, and those of other ranks.
#include <algorithm>
#include <cstring>
#include <ctime>
#include <deque>
#include <optional>

#include "comm/figures.hpp"
#include "comm/mpi_transport.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"
#include "store/feature_store.hpp"

#include "stages.hpp"

namespace rudder::bench {

namespace {

constexpr std::size_t copied_rows = 512;  ///< of one chunk of a plain copy
constexpr std::size_t prefetched = 8;     ///< rows ahead

/// A table of as many rows as the graph has, in plain memory.
struct PlainTable {
    std::size_t width;
    Array<float> values;

    PlainTable(VertexId rows, std::size_t columns)
        : width(columns), values(Array<float>::uninitialised(rows * columns)) {
        std::fill(values.begin(), values.end(), 1.0F);
    }

    /// Rows one after the other, wherever they lie; each is asked for some rows ahead.
    void copy_indexed(std::span<const VertexId> rows, float* out) const {
        parallel_chunks(rows.size(), copied_rows, [&](const Chunk& chunk) {
            for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                if (i + prefetched < chunk.end) {
                    const float* next = values.data() + rows[i + prefetched] * width;
                    for (std::size_t at = 0; at < width; at += 16)
                        __builtin_prefetch(next + at);
                }
                std::memcpy(out + i * width, values.data() + rows[i] * width,
                            width * sizeof(float));
            }
        });
    }
    /// As many bytes from one place to another.
    void copy_stretch(std::size_t rows, float* out) const {
        const std::size_t count = std::min(rows * width, values.size());
        parallel_chunks(count, copied_rows * width, [&](const Chunk& chunk) {
            std::memcpy(out + chunk.begin, values.data() + chunk.begin,
                        (chunk.end - chunk.begin) * sizeof(float));
        });
    }
};

double clock_of(auto&& body) {
    const double start = seconds();
    body();
    return seconds() - start;
}

double process_cpu() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// About so many distinct rows of other ranks, at random.
std::vector<VertexId> rows_elsewhere(const store::FeatureStore& store, VertexId vertices,
                                     std::size_t count, std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 0);
    std::vector<VertexId> ids;
    for (std::size_t tries = 0; tries < 4 * count && ids.size() < count; ++tries) {
        const VertexId v = draws.below(vertices);
        if (!store.local(v)) ids.push_back(v);
    }
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

struct PullUnderWay {
    std::vector<VertexId> ids;
    std::vector<VertexId> plain;  ///< the same, as rows of the plain table
    std::vector<float> rows;
    store::RowsWanted wanted;
    std::optional<store::Pull> pull;
};

/// Seconds of one round: every pull started, two under way at a time.
double pull_all(const comm::Communicator& comm, const store::FeatureStore& store,
                std::vector<PullUnderWay>& pulls) {
    comm.barrier();
    const double mine = clock_of([&] {
        std::deque<PullUnderWay*> under_way;
        for (PullUnderWay& next : pulls) {
            if (under_way.size() == 2) {
                static_cast<void>(under_way.front()->pull->wait());
                under_way.pop_front();
            }
            next.pull.emplace(store.pull({&next.wanted, 1}));
            under_way.push_back(&next);
        }
        for (PullUnderWay* last : under_way)
            static_cast<void>(last->pull->wait());
    });
    return static_cast<double>(comm.all_max(static_cast<std::int64_t>(mine * 1e9))) * 1e-9;
}

}  // namespace

StageFigures own_rows_stage(const StageSettings& settings) {
    SampledSteps steps(settings);
    const std::size_t width = steps.data().info().features.width;
    store::FeatureStore store(comm::Communicator::local(), steps.data(), {});
    const PlainTable table(steps.data().book().vertices(), width);
    std::vector<sample::Batch> batches;
    std::size_t rows = 0;
    std::size_t most = 0;
    for (std::uint64_t step = 0; step < settings.steps; ++step) {
        batches.push_back(steps.batch(static_cast<PartId>(step % steps.data().parts()), step));
        rows += batches.back().vertices.size();
        most = std::max<std::size_t>(most, batches.back().vertices.size());
    }
    std::vector<float> out(most * width);
    std::vector<double> ours, indexed, stretch, over_indexed, over_stretch;
    for (int round = -1; round < settings.rounds; ++round) {
        double a = 0;
        double b = 0;
        double c = 0;
        for (const sample::Batch& batch : batches) {
            const std::span<const VertexId> ids(batch.vertices.data(), batch.vertices.size());
            const store::RowsWanted wanted{ids, std::span(out).first(ids.size() * width), true};
            a += clock_of([&] { static_cast<void>(store.pull({&wanted, 1}).wait()); });
            b += clock_of([&] { table.copy_indexed(ids, out.data()); });
            c += clock_of([&] { table.copy_stretch(ids.size(), out.data()); });
        }
        if (round < 0) continue;
        ours.push_back(a);
        indexed.push_back(b);
        stretch.push_back(c);
        over_indexed.push_back(a / b);
        over_stretch.push_back(a / c);
    }
    store.stop();
    const auto bytes = static_cast<double>(rows * width * sizeof(float));
    const double taken = median(ours);
    return {{"rows", static_cast<double>(rows)},
            {"ns_per_row", taken * 1e9 / static_cast<double>(rows)},
            {"gb_per_s", bytes / taken / 1e9},
            {"indexed_gb_per_s", bytes / median(indexed) / 1e9},
            {"plain_gb_per_s", bytes / median(stretch) / 1e9},
            {"over_indexed", median(over_indexed)},
            {"over_plain", median(over_stretch)},
            {"spread", spread(over_stretch)}};
}

StageFigures remote_rows_stage(const StageSettings& settings) {
    constexpr std::size_t pull_rows = 20'000;
    const comm::MpiSession session;
    comm::MpiOptions transport;
    transport.ranks_per_host = 1;
    const comm::Communicator comm(comm::make_mpi_transport(transport));
    const partition::PartitionedDataset data(settings.parts);
    const VertexId vertices = data.book().vertices();
    store::FeatureStore store(comm, data, {});
    const std::size_t width = data.info().features.width;
    const VertexId held = std::max<VertexId>(1, vertices / static_cast<VertexId>(comm.size()));
    const PlainTable table(held, width);
    std::vector<PullUnderWay> pulls(settings.steps);
    std::size_t rows = 0;
    for (std::size_t i = 0; i < pulls.size(); ++i) {
        PullUnderWay& next = pulls[i];
        next.ids = rows_elsewhere(store, vertices, pull_rows,
                                  i * 1000 + static_cast<std::uint64_t>(comm.rank()));
        for (const VertexId v : next.ids)
            next.plain.push_back(v % held);
        next.rows.resize(next.ids.size() * width);
        next.wanted = {next.ids, next.rows, true};
        rows += next.ids.size();
    }
    // The slowest rank has the most to do; parts differ by a few rows at most.
    rows = static_cast<std::size_t>(comm.all_max(static_cast<std::int64_t>(rows)));
    std::vector<double> ours, plain, ratios;
    double cpu = 0;
    for (int round = -1; round < settings.rounds; ++round) {
        const double before = process_cpu();
        const double a = pull_all(comm, store, pulls);
        if (round >= 0) cpu += process_cpu() - before;
        comm.barrier();
        const double mine = clock_of([&] {
            for (PullUnderWay& next : pulls)
                table.copy_indexed(next.plain, next.rows.data());
        });
        const double b =
            static_cast<double>(comm.all_max(static_cast<std::int64_t>(mine * 1e9))) * 1e-9;
        if (round < 0) continue;
        ours.push_back(a);
        plain.push_back(b);
        ratios.push_back(a / b);
    }
    store.stop();
    if (comm.rank() != 0 || rows == 0) return {};
    const auto bytes = static_cast<double>(rows * width * sizeof(float));
    const double taken = median(ours);
    return {{"rows", static_cast<double>(rows)},
            {"ns_per_row", taken * 1e9 / static_cast<double>(rows)},
            {"cpu_ns_per_row", cpu * 1e9 / settings.rounds / static_cast<double>(rows)},
            {"gb_per_s", bytes / taken / 1e9},
            {"plain_gb_per_s", bytes / median(plain) / 1e9},
            {"over_plain", median(ratios)},
            {"spread", spread(ratios)}};
}

}  // namespace rudder::bench
