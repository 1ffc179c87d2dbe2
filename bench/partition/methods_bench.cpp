// Time, cut and balance of the methods on npm_deps (4 parts), against METIS balanced on vertices
// alone; on a generated graph where the real one is absent.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/log.hpp"
#include "graph/generate/generate.hpp"
#include "graph/io/import.hpp"
#include "partition/loads.hpp"
#include "partition/partition.hpp"

namespace {

using namespace rudder;
namespace fs = std::filesystem;

/// The data set, made once and removed at the end.
class Bed {
public:
    Bed() : folder_(fs::temp_directory_path() / fmt::format("rudder-bench-{}", ::getpid())) {
        const fs::path real = fs::path(RUDDER_SOURCE_DIR) / "../shared/data/npm_deps.npz";
        if (fs::exists(real)) {
            graph::ImportOptions options;
            options.input = real;
            options.output = folder_;
            graph::import_dataset(options);
        } else {
            fmt::print(stderr, "no {}: a generated graph takes its place\n", real.string());
            graph::GenerateOptions options;
            options.kind = "sbm";
            options.output = folder_;
            options.generator.vertices = 300'000;
            options.generator.classes = 40;
            graph::generate_dataset(options, Progress::none());
        }
        data_ = std::make_unique<graph::Dataset>(folder_);
    }
    ~Bed() {
        data_.reset();
        std::error_code code;
        fs::remove_all(folder_, code);
    }
    Bed(const Bed&) = delete;
    Bed& operator=(const Bed&) = delete;

    [[nodiscard]] partition::PartitionInput input() const {
        return {data_->topology(), data_->topology(), data_->roles()};
    }

private:
    fs::path folder_;
    std::unique_ptr<graph::Dataset> data_;
};

struct Figures {
    double seconds = 0;
    double cut = 0;
};

double cut_of(const graph::TopologyView& graph, std::span<const PartId> parts) {
    EdgeIndex crossing = 0;
    for (VertexId v = 0; v < graph.vertices(); ++v) {
        for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
            crossing += parts[graph.neighbours[e]] != parts[v] ? 1U : 0U;
    }
    return static_cast<double>(crossing) / static_cast<double>(graph.edges());
}

void divide(benchmark::State& state, const Bed& bed, const std::string& method,
            const std::string& balance, std::uint32_t passes, Figures& reference) {
    const partition::PartitionInput input = bed.input();
    partition::PartitionOptions options;
    options.parts = 4;
    options.method = method;
    options.balance = partition::parse_balance(balance);
    options.passes = passes;
    Figures figures;
    partition::Assignment assignment;
    std::int64_t rounds = 0;
    for (auto _ : state) {
        const auto start = std::chrono::steady_clock::now();
        assignment = partition::assign_parts(input, options);
        figures.seconds +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        ++rounds;
    }
    figures.seconds /= static_cast<double>(rounds);
    figures.cut = cut_of(input.graph, assignment.parts.span());
    if (reference.seconds == 0) reference = figures;
    partition::Loads loads(input, options);
    loads.count(input, assignment.parts.span());
    state.counters["cut_%"] = 100 * figures.cut;
    state.counters["cut_ratio"] = figures.cut / reference.cut;
    state.counters["times_faster"] = reference.seconds / figures.seconds;
    state.counters["vertices"] = loads.imbalance(0);
    state.counters["train"] = loads.imbalance(1);
    state.counters["edges"] = loads.imbalance(2);
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    const Bed bed;
    Figures reference;
    const auto add = [&](const std::string& method, const std::string& balance,
                         std::uint32_t passes) {
        benchmark::RegisterBenchmark(
            fmt::format("{}/{}/passes:{}", method, balance, passes).c_str(),
            [&bed, &reference, method, balance, passes](benchmark::State& state) {
                divide(state, bed, method, balance, passes, reference);
            })
            ->Unit(benchmark::kMillisecond)
            ->UseRealTime();
    };
    add("metis", "vertices", 1);  // the reference: first
    add("metis", "vertices,train,edges", 1);
    for (const char* method : {"ldg", "fennel"}) {
        for (const std::uint32_t passes : {1U, 3U}) {
            add(method, "vertices", passes);
            add(method, "vertices,train", passes);
            add(method, "vertices,train,edges", passes);
        }
    }
    add("random", "vertices", 1);
    add("hash", "vertices", 1);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
