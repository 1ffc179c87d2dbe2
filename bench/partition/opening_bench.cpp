// Opening a partitioned data set of 1 GB: the manifest alone, one part, all parts.
#include <cstdio>
#include <filesystem>
#include <memory>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include "graph/generate/generate.hpp"
#include "partition/partition.hpp"

namespace {

using namespace rudder;
namespace fs = std::filesystem;

std::uintmax_t bytes_in(const fs::path& folder) {
    std::uintmax_t sum = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) sum += entry.file_size();
    }
    return sum;
}

/// A partitioned data set of about 1 GB, made once and removed at the end.
class Bed {
public:
    Bed() : folder_(fs::temp_directory_path() / fmt::format("rudder-bench-{}", ::getpid())) {
        graph::GenerateOptions options;
        options.kind = "sbm";
        options.output = folder_ / "data";
        options.generator.vertices = 900'000;
        options.features = "planted:250";
        graph::generate_dataset(options, Progress::none());
        const graph::Dataset data(folder_ / "data");
        partition::PartitionOptions parts;
        parts.parts = 4;
        parts.method = "random";
        partition::partition_dataset(data, path(), parts, Existing::refuse);
        fmt::print(stderr, "partitioned data set of {:.2f} GB\n",
                   static_cast<double>(bytes_in(path())) * 1e-9);
    }
    ~Bed() {
        std::error_code code;
        fs::remove_all(folder_, code);
    }
    Bed(const Bed&) = delete;
    Bed& operator=(const Bed&) = delete;
    [[nodiscard]] fs::path path() const { return folder_ / "parts"; }

private:
    fs::path folder_;
};

const Bed& bed() {
    static const Bed made;
    return made;
}

void open_manifest(benchmark::State& state) {
    const fs::path path = bed().path();
    for (auto _ : state)
        benchmark::DoNotOptimize(partition::PartitionedDataset(path));
}

void open_one_part(benchmark::State& state) {
    const fs::path path = bed().path();
    for (auto _ : state)
        benchmark::DoNotOptimize(partition::PartitionedDataset(path).part(1));
}

void open_all_parts(benchmark::State& state) {
    const fs::path path = bed().path();
    for (auto _ : state)
        benchmark::DoNotOptimize(partition::PartitionedDataset(path).all_parts());
}

}  // namespace

BENCHMARK(open_manifest)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(open_one_part)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(open_all_parts)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_MAIN();
