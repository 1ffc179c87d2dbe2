// Generating an R-MAT graph, to disk: edges drawn per second, and peak memory over the graph's
// size.
#include <algorithm>
#include <filesystem>
#include <string>

#include <benchmark/benchmark.h>

#include "graph/generate/generate.hpp"

#include "child_peak.hpp"

namespace {

namespace fs = std::filesystem;

void generate_rmat(benchmark::State& state) {
    rudder::graph::GenerateOptions options;
    options.kind = "rmat";
    options.output = fs::temp_directory_path() / ("rudder-bench-" + std::to_string(::getpid()));
    options.existing = rudder::Existing::replace;
    options.generator.vertices = std::uint64_t{1} << state.range(0);
    double ratio = 0;
    for (auto _ : state) {
        ratio =
            std::max(ratio, rudder::bench::peak_of([&] {
                         return rudder::graph::generate_dataset(options, rudder::Progress::none());
                     }));
    }
    const auto edges = rudder::graph::make_generator("rmat", options.generator)->edges();
    state.counters["edges/s"] = benchmark::Counter(static_cast<double>(edges),
                                                   benchmark::Counter::kIsIterationInvariantRate);
    state.counters["peak/graph"] = ratio;
    fs::remove_all(options.output);
}

BENCHMARK(generate_rmat)
    ->ArgName("scale")
    ->Arg(20)
    ->Arg(22)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5)
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
