// What a remote id costs a buffer at the size of the published graphs: numbering, and each policy.
//
//   bench_buffer_scale [ROWS=1600000] [IDS_PER_STEP=66000] [STEPS=64] [THREADS=1]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "buffer/policy_run.hpp"
#include "core/cpu_meter.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

namespace {

using namespace rudder;
using buffer::RowKey;

struct Sizes {
    VertexId rows = 1'600'000;
    std::size_t ids = 66'000;
    std::size_t steps = 64;
};

/// Distinct ids of each step, popular ones more often, spread over a graph half as large again.
std::vector<std::vector<VertexId>> steps_of(const Sizes& sizes) {
    const RandomStream stream({Purpose::test, 7});
    Draws draws(stream, 0);
    std::vector<std::uint32_t> seen(sizes.rows, 0);
    std::vector<std::vector<VertexId>> steps(sizes.steps);
    for (std::size_t s = 0; s < sizes.steps; ++s) {
        while (steps[s].size() < sizes.ids) {
            const double u = draws.uniform();
            const auto row =
                static_cast<VertexId>(std::pow(u, 1.6) * static_cast<double>(sizes.rows));
            const VertexId at = row * 0x9E3779B1U % sizes.rows;
            if (std::exchange(seen[at], static_cast<std::uint32_t>(s + 1)) == s + 1) continue;
            steps[s].push_back(at + at / 2);
        }
    }
    return steps;
}

double nanoseconds(auto&& body) {
    const std::uint64_t start = thread_cpu_nanoseconds();
    body();
    return static_cast<double>(thread_cpu_nanoseconds() - start);
}

}  // namespace

int main(int argc, char** argv) {
    Sizes sizes;
    if (argc > 1) sizes.rows = std::strtoull(argv[1], nullptr, 10);
    if (argc > 2) sizes.ids = std::strtoull(argv[2], nullptr, 10);
    if (argc > 3) sizes.steps = std::strtoull(argv[3], nullptr, 10);
    set_thread_count(argc > 4 ? std::atoi(argv[4]) : 1);
    const auto steps = steps_of(sizes);
    std::vector<VertexId> halo(sizes.rows);
    for (VertexId i = 0; i < sizes.rows; ++i)
        halo[i] = i + i / 2;
    buffer::RowNumbering numbering(sizes.rows + sizes.rows / 2 + 1, halo);
    const auto all = static_cast<double>(sizes.steps * sizes.ids);
    std::vector<std::vector<RowKey>> rows(steps.size(), std::vector<RowKey>(sizes.ids));
    const double numbered = nanoseconds([&] {
        for (std::size_t s = 0; s < steps.size(); ++s)
            numbering.number(steps[s], rows[s]);
    });
    fmt::print("{} rows, {} steps of {} ids, {} threads; CPU of the calling thread, ns per id\n",
               sizes.rows, sizes.steps, sizes.ids, thread_count());
    fmt::print("{:<28} {:>8} {:>8.1f}\n", "numbering", "", numbered / all);
    for (const double fraction : {0.05, 0.25}) {
        const auto slots = static_cast<buffer::SlotId>(fraction * static_cast<double>(sizes.rows));
        for (const char* text : {"window:16", "window:48", "lru", "lfu", "scored,every:16"}) {
            const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
            const buffer::PolicyFacts facts{&numbering, {}, {}, {}, 0};
            buffer::IdBuffer ids(spec, facts, slots, slots);
            const double taken = nanoseconds([&] { bench::run_policy(ids, rows); });
            fmt::print("{:<28} {:>8.2f} {:>8.1f}   {} rows fetched\n", text, fraction, taken / all,
                       ids.accounts().fetched());
        }
    }
    return 0;
}
