// The sampler at size, one thread, beside a plain loop that reads as many entries of the same rows.
#include <algorithm>

#include "comm/figures.hpp"
#include "core/cpu_meter.hpp"
#include "rudder/core/array.hpp"

#include "stages.hpp"

namespace rudder::bench {

namespace {

/// The whole graph in two arrays.
struct PlainRows {
    Array<EdgeIndex> offsets;
    Array<std::uint32_t> neighbours;

    explicit PlainRows(const SampledSteps& steps)
        : offsets(Array<EdgeIndex>::zeroed(steps.data().book().vertices() + 1)),
          neighbours(Array<std::uint32_t>::uninitialised(steps.data().info().edges)) {
        EdgeIndex at = 0;
        std::size_t vertex = 0;
        for (const partition::Part& part : steps.parts()) {
            for (VertexId v = 0; v < part.own(); ++v) {
                for (const LocalId u : part.row(static_cast<LocalId>(v)))
                    neighbours[at++] = static_cast<std::uint32_t>(part.global(u));
                offsets[++vertex] = at;
            }
        }
    }
};

/// Reads as many entries of each destination's row as the sampler drew, at random places of it.
/// What it adds up keeps the reads from being left out.
std::uint64_t read_entries(const PlainRows& rows, const sample::Batch& batch,
                           std::span<const std::int32_t> fanout) {
    std::uint64_t sum = 0;
    std::uint64_t state = batch.key.step + 1;
    for (std::size_t layer = 0; layer < batch.blocks.size(); ++layer) {
        for (std::uint32_t d = 0; d < batch.blocks[layer].destinations; ++d) {
            const VertexId v = batch.vertices[d];
            const EdgeIndex begin = rows.offsets[v];
            const std::uint64_t degree = rows.offsets[v + 1] - begin;
            const std::uint64_t count = std::min(degree, static_cast<std::uint64_t>(fanout[layer]));
            for (std::uint64_t i = 0; i < count; ++i) {
                state = state * 6364136223846793005U + 1442695040888963407U;
                sum += rows.neighbours[begin + ((state >> 32) * degree >> 32)];
            }
        }
    }
    return sum;
}

}  // namespace

StageFigures sample_stage(const StageSettings& settings) {
    SampledSteps steps(settings);
    const PlainRows rows(steps);
    std::vector<sample::Batch> batches;
    std::vector<std::vector<VertexId>> seeds;
    std::uint64_t edges = 0;
    for (std::uint64_t step = 0; step < settings.steps; ++step) {
        for (PartId part = 0; part < steps.data().parts(); ++part) {
            batches.push_back(steps.batch(part, step));
            seeds.push_back(steps.seeds(part, step));
            edges += batches.back().edges();
        }
    }
    sample::NeighbourSampler sampler(steps.source(), steps.options());
    sample::Batch drawn;
    std::vector<double> ours, plain, ratios;
    volatile std::uint64_t kept = 0;
    for (int round = -1; round < settings.rounds; ++round) {
        std::uint64_t start = thread_cpu_nanoseconds();
        for (std::size_t i = 0; i < batches.size(); ++i)
            sampler.sample(batches[i].key, seeds[i], drawn);
        const auto our_time = static_cast<double>(thread_cpu_nanoseconds() - start);
        start = thread_cpu_nanoseconds();
        for (const sample::Batch& batch : batches)
            kept = kept + read_entries(rows, batch, steps.options().fanout);
        const auto plain_time = static_cast<double>(thread_cpu_nanoseconds() - start);
        if (round < 0) continue;
        ours.push_back(our_time / static_cast<double>(edges));
        plain.push_back(plain_time / static_cast<double>(edges));
        ratios.push_back(our_time / plain_time);
    }
    return {{"edges", static_cast<double>(edges)},
            {"ns_per_edge", median(ours)},
            {"plain_ns_per_edge", median(plain)},
            {"over_plain", median(ratios)},
            {"spread", spread(ratios)}};
}

}  // namespace rudder::bench
