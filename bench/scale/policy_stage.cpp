// What a remote row costs the buffer at size, by policy: rows as the sampler needs them, on ids
// alone.
#include <atomic>

#include <fmt/format.h>

#include "buffer/policy_run.hpp"
#include "comm/figures.hpp"
#include "core/cpu_meter.hpp"
#include "rudder/core/array.hpp"

#include "stages.hpp"

namespace rudder::bench {

namespace {

using buffer::RowKey;

/// What a policy cannot do without: one entry of half a cache line for each id.
struct PlainEntry {
    std::uint64_t uses;
    std::uint64_t step;
    std::uint64_t unused[2];
};

std::uint64_t touch_entries(const std::vector<std::vector<RowKey>>& steps,
                            Array<PlainEntry>& entries) {
    std::uint64_t sum = 0;
    for (std::size_t s = 0; s < steps.size(); ++s) {
        const std::vector<RowKey>& rows = steps[s];
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (i + buffer::lead < rows.size())
                __builtin_prefetch(&entries[rows[i + buffer::lead]], 1);
            PlainEntry& entry = entries[rows[i]];
            sum += ++entry.uses;
            entry.step = s;
        }
    }
    return sum;
}

/// CPU of all threads that had a share in it, and the clock, in nanoseconds.
struct Cost {
    double cpu;
    double clock;
};

Cost cost_of(auto&& body) {
    std::atomic<std::uint64_t> sum{0};
    const double start = seconds();
    {
        const CpuMeter meter(sum);
        body();
    }
    return {static_cast<double>(sum.load()), (seconds() - start) * 1e9};
}

/// The rows of other parts that part 0 needs, step by step.
std::vector<std::vector<VertexId>> remote_ids(SampledSteps& steps, std::uint64_t count) {
    const auto own = steps.data().book().range(0);
    std::vector<std::vector<VertexId>> all(count);
    for (std::uint64_t step = 0; step < count; ++step) {
        const sample::Batch batch = steps.batch(0, step);
        for (const VertexId v : batch.vertices) {
            if (!own.contains(v)) all[step].push_back(v);
        }
    }
    return all;
}

}  // namespace

StageFigures policy_stage(const StageSettings& settings) {
    SampledSteps sampled(settings);
    const auto ids = remote_ids(sampled, settings.steps);
    const auto halo = sampled.parts().front().halo();
    std::vector<std::vector<RowKey>> rows;
    double all = 0;
    for (const auto& step : ids) {
        rows.emplace_back(step.size());
        all += static_cast<double>(step.size());
    }
    const VertexId vertices = sampled.data().book().vertices();
    const auto slots = static_cast<buffer::SlotId>(std::max<std::size_t>(1, halo.size() / 4));
    StageFigures figures{{"rows", all}, {"halo", static_cast<double>(halo.size())}};
    if (all == 0) return figures;

    std::vector<double> numbered, plain;
    std::vector<std::vector<double>> costs(policies_of_stage.size());
    std::vector<std::vector<double>> clocks(policies_of_stage.size());
    std::vector<std::vector<double>> ratios(policies_of_stage.size());
    volatile std::uint64_t kept = 0;
    for (int round = 0; round < settings.rounds; ++round) {
        buffer::RowNumbering numbering(vertices, halo);
        const Cost numbers = cost_of([&] {
            for (std::size_t s = 0; s < ids.size(); ++s)
                numbering.number(ids[s], rows[s]);
        });
        auto entries = Array<PlainEntry>::zeroed(numbering.size());
        const Cost touched = cost_of([&] { kept = kept + touch_entries(rows, entries); });
        numbered.push_back(numbers.cpu / all);
        plain.push_back(touched.cpu / all);
        for (std::size_t p = 0; p < policies_of_stage.size(); ++p) {
            const buffer::PolicyFacts facts{&numbering, {}, {}, {}, 0};
            buffer::IdBuffer buffer(buffer::PolicySpec::parse(policies_of_stage[p]), facts, slots,
                                    slots);
            const Cost taken = cost_of([&] { run_policy(buffer, rows); });
            costs[p].push_back(taken.cpu / all);
            clocks[p].push_back(taken.clock / all);
            ratios[p].push_back(taken.cpu / touched.cpu);
        }
    }
    figures.emplace_back("plain_ns", median(plain));
    figures.emplace_back("numbering_ns", median(numbered));
    for (std::size_t p = 0; p < policies_of_stage.size(); ++p) {
        figures.emplace_back(fmt::format("{} ns", policies_of_stage[p]), median(costs[p]));
        figures.emplace_back(fmt::format("{} clock_ns", policies_of_stage[p]), median(clocks[p]));
        figures.emplace_back(fmt::format("{} over_plain", policies_of_stage[p]), median(ratios[p]));
        figures.emplace_back(fmt::format("{} spread", policies_of_stage[p]), spread(ratios[p]));
    }
    return figures;
}

}  // namespace rudder::bench
