// Import of a raw binary edge list, to disk: edges per second, and the peak memory as a multiple of
// the graph's own size. Each figure is taken in a process of its own, so that the peak is the
// import's.
#include <filesystem>
#include <vector>

#include <benchmark/benchmark.h>

#include "graph/io/import.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/random.hpp"

#include "child_peak.hpp"

namespace {

namespace fs = std::filesystem;

/// Writes `edges` pairs of uniform 32-bit ids below `vertices`.
void write_pairs(const fs::path& path, std::uint64_t vertices, std::uint64_t edges) {
    const rudder::RandomStream stream({.purpose = rudder::Purpose::test});
    rudder::Draws draws(stream, 0);
    rudder::File file = rudder::File::create(path);
    std::vector<std::uint32_t> block;
    for (std::uint64_t i = 0; i < 2 * edges; ++i) {
        block.push_back(static_cast<std::uint32_t>(draws.below(vertices)));
        if (block.size() == 1 << 20 || i + 1 == 2 * edges) {
            file.write(std::as_bytes(std::span(block)));
            block.clear();
        }
    }
    file.close();
}

void import_binary(benchmark::State& state) {
    const auto vertices = static_cast<std::uint64_t>(state.range(0));
    const auto edges = static_cast<std::uint64_t>(state.range(1));
    const fs::path folder =
        fs::temp_directory_path() / ("rudder-bench-" + std::to_string(::getpid()));
    fs::create_directories(folder);
    write_pairs(folder / "edges.bin", vertices, edges);
    rudder::graph::ImportOptions options{.input = folder / "edges.bin", .output = folder / "out"};
    options.directed = state.range(2) != 0;
    options.force = true;
    double ratio = 0;
    for (auto _ : state)
        ratio = std::max(
            ratio, rudder::bench::peak_of([&] { return rudder::graph::import_dataset(options); }));
    state.counters["edges/s"] = benchmark::Counter(static_cast<double>(edges),
                                                   benchmark::Counter::kIsIterationInvariantRate);
    state.counters["peak/graph"] = ratio;
    fs::remove_all(folder);
}

BENCHMARK(import_binary)
    ->ArgNames({"vertices", "edges", "directed"})
    ->Args({1 << 20, 16 << 20, 0})
    ->Args({1 << 20, 16 << 20, 1})
    ->Args({4 << 20, 64 << 20, 0})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
