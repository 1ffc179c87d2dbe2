// What the declared class takes beside a run, by the rows of a step: CPU time, and rows looked at.
//
//     bench_steer_watch [STEPS]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "buffer/trace_window.hpp"
#include "core/cpu_meter.hpp"
#include "rudder/buffer/trace.hpp"
#include "rudder/core/random.hpp"
#include "rudder/core/text.hpp"
#include "steer/regret/class_watch.hpp"

namespace {

using namespace rudder;

/// Steps of so many rows out of four times as many, ten of them the halo; low ones more often.
std::unique_ptr<const buffer::HostTrace> made_trace(std::uint64_t rows, std::uint64_t steps) {
    const std::uint64_t vertices = 10 * rows;
    buffer::HostTrace::Arrays arrays;
    for (VertexId v = 0; v < vertices; ++v) {
        arrays.halo.push_back(v);
        arrays.halo_degree.push_back(1 + static_cast<std::uint32_t>(vertices / (v + 1)));
        arrays.inclusion.push_back(1.0 / static_cast<double>(v + 1));
    }
    arrays.offsets.push_back(0);
    std::vector<std::uint64_t> ids;
    std::vector<std::uint64_t> seen(vertices, 0);
    Draws draws(RandomStream({Purpose::test, 1}), 0);
    for (std::uint64_t step = 1; step <= steps; ++step) {
        for (std::uint64_t i = 0; i < rows; ++i) {
            const double u = draws.uniform();
            const auto v = static_cast<VertexId>(u * u * static_cast<double>(vertices));
            if (std::exchange(seen[v], step) != step) ids.push_back(v);
        }
        arrays.offsets.push_back(ids.size());
    }
    arrays.listed.assign(steps, 0);
    buffer::TraceHeader header;
    header.vertices = vertices;
    return std::make_unique<const buffer::HostTrace>(header, std::move(arrays),
                                                     std::span<const std::uint64_t>(ids), "made");
}

void measure(std::uint64_t rows, std::uint64_t steps) {
    const auto trace = made_trace(rows, steps);
    const auto slots = static_cast<buffer::SlotId>(10 * rows / 4);
    buffer::TraceWindow window(*trace);
    buffer::ShadowScan scan;
    steer::ClassWatch watch(trace->facts(), slots, 0, scan);
    std::uint64_t needed = 0;
    std::atomic<std::uint64_t> cpu{0};
    for (std::uint64_t s = 0; s < trace->steps(); ++s) {
        if (s == steps / 2) cpu = 0;  // buffers are full by then
        const auto ids = window.step(s);
        needed += ids.size();
        const CpuMeter meter(cpu);
        scan.publish(s, ids);
        watch.published(s, ids);
        watch.taken({.steps = 1, .needed = ids.size(), .demand = ids.size()});
    }
    const double per_step =
        1e-3 * static_cast<double>(cpu) / static_cast<double>(steps - steps / 2);
    fmt::print("{:>8} rows per step, {:>8} slots: {:>6} looks and {:>6.1f} us per step\n",
               needed / steps, slots, watch.looked() / steps, per_step);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const std::uint64_t steps = argc > 1 ? parse_u64(argv[1]).value() : 400;
    for (const std::uint64_t rows : {30U, 100U, 300U, 1'000U, 3'000U, 10'000U, 30'000U, 100'000U})
        measure(rows, steps);
    return 0;
}
