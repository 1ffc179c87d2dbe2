#include "compute_bench.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <numeric>

#include <fmt/format.h>
#include <unistd.h>

#include "graph/generate/generate.hpp"
#include "partition/partition.hpp"
#include "rudder/buffer/id_buffer.hpp"
#include "rudder/buffer/row_numbering.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/aggregate.hpp"
#include "rudder/nn/linear.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "sample/sampler.hpp"
#include "sample/schedule.hpp"
#include "store/feature_store.hpp"

#include "step_work.hpp"

namespace rudder::run {

namespace {

namespace fs = std::filesystem;
using BenchClock = std::chrono::steady_clock;

constexpr PartId bed_parts = 2;  ///< so that half of the rows a part needs are another's
constexpr std::uint64_t bed_width = 100;
constexpr std::uint64_t bed_classes = 47;
constexpr std::uint64_t bed_hidden = 256;
constexpr std::size_t bed_steps = 6;
constexpr std::size_t product_rows = 4096;
constexpr double rates_per_count = 7;  ///< figures for each number of threads

double seconds_since(BenchClock::time_point start) {
    return std::chrono::duration<double>(BenchClock::now() - start).count();
}

/// A number of threads for a while.
class ThreadsForNow {
public:
    explicit ThreadsForNow(int threads) : before_(thread_count()) { set_thread_count(threads); }
    ~ThreadsForNow() { set_thread_count(before_); }
    ThreadsForNow(ThreadsForNow&&) = delete;

private:
    int before_;
};

/// A folder for a while.
class FolderForNow {
public:
    explicit FolderForNow(int rank)
        : path_(fs::temp_directory_path() / fmt::format("rudder-bench-{}-{}", ::getpid(), rank)) {
        fs::create_directories(path_);
    }
    ~FolderForNow() {
        std::error_code code;
        fs::remove_all(path_, code);
    }
    FolderForNow(FolderForNow&&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

/// The partitioned graph that figures are of: communities, 52 stored edges per vertex.
partition::PartitionedDataset make_bed(const fs::path& folder, VertexId vertices) {
    graph::GenerateOptions generate;
    generate.kind = "sbm";
    generate.output = folder / "data";
    generate.generator.vertices = vertices;
    generate.generator.classes = bed_classes;
    generate.generator.degree = 26;
    generate.features = fmt::format("random:{}", bed_width);
    graph::generate_dataset(generate, Progress::none());
    partition::PartitionOptions options;
    options.parts = bed_parts;
    options.method = "random";
    partition::partition_dataset(graph::Dataset(generate.output), folder / "parts", options,
                                 Existing::refuse);
    return partition::PartitionedDataset(folder / "parts");
}

class ComputeBench {
public:
    ComputeBench(const comm::Communicator& comm, const ComputeBenchOptions& options)
        : comm_(comm),
          seconds_(options.seconds / (2 * rates_per_count)),
          folder_(comm.rank()),
          data_(make_bed(folder_.path(), options.vertices)),
          parts_(data_.all_parts()),
          source_(
              sample::make_replicated_source(comm::Communicator::local(), data_.book(), parts_)),
          schedule_(comm::Communicator::local(), parts_, bed_parts,
                    {.batch = std::min<std::uint64_t>(options.batch, options.vertices / 20 + 1)}),
          store_(comm::Communicator::local(), data_, {}) {
        sample::NeighbourSampler sampler(*source_, sampling(sample::Sampler::shared));
        batches_.resize(bed_steps);
        for (std::size_t step = 0; step < bed_steps; ++step) {
            seeds_.push_back(seeds_of(step));
            sampler.sample(key_of(step), seeds_.back(), batches_[step]);
        }
    }
    ~ComputeBench() {
        store_.stop();
        source_->stop();
    }
    ComputeBench(ComputeBench&&) = delete;

    [[nodiscard]] ComputeRates measure(int threads) {
        const ThreadsForNow now(threads);
        ComputeRates rates;
        rates.threads = static_cast<std::uint64_t>(threads);
        rates.shared_edges_per_second = sampled(sample::Sampler::shared, threads);
        rates.plain_edges_per_second = sampled(sample::Sampler::plain, threads);
        rates.gather_bytes_per_second = gathered();
        rates.product_flops_per_second = multiplied();
        rates.aggregate_bytes_per_second = aggregated();
        rates.policy_rows_per_second = decided();
        const NetworkWork work = network_work(batches_.front(), bed_width, bed_hidden, bed_classes);
        const double by_rates = work.flops / rates.product_flops_per_second +
                                work.mean_bytes / rates.aggregate_bytes_per_second;
        rates.step_factor = 1 / trained() / by_rates;
        return rates;
    }

private:
    static sample::SamplerOptions sampling(sample::Sampler how) {
        return {.fanout = {10, 25},
                .sampler = how,
                .redraw = how == sample::Sampler::shared ? 32U : 1U};
    }
    [[nodiscard]] sample::BatchKey key_of(std::size_t step) const {
        return {schedule_.epoch_of(step), step, static_cast<PartId>(step % bed_parts)};
    }
    [[nodiscard]] std::vector<VertexId> seeds_of(std::size_t step) const {
        std::vector<VertexId> seeds;
        schedule_.seeds(static_cast<PartId>(step % bed_parts), step, seeds);
        return seeds;
    }

    /// Units per second: `work` tells how many it did; of the slowest rank.
    template <class Work>
    double rate(Work&& work) {
        static_cast<void>(work());  // brings everything to where it is needed
        comm_.barrier();
        const auto start = BenchClock::now();
        double units = 0;
        double taken = 0;
        do {
            units += work();
            taken = seconds_since(start);
        } while (taken < seconds_);
        // In thousandths, so that figures of a few per second stay exact enough.
        const double thousandths = std::clamp(units / taken * 1e3, 1.0, 1e18);
        return static_cast<double>(comm_.all_min(static_cast<std::int64_t>(thousandths))) / 1e3;
    }

    double sampled(sample::Sampler how, int threads) {
        const auto count = static_cast<std::size_t>(threads);
        std::vector<sample::NeighbourSampler> samplers;
        std::vector<sample::Batch> drawn(count);
        for (std::size_t t = 0; t < count; ++t)
            samplers.emplace_back(*source_, sampling(how));
        std::vector<std::uint64_t> edges(count);
        return rate([&] {
            parallel_chunks(count, 1, [&](const Chunk& chunk) {
                edges[chunk.index] = 0;
                for (std::size_t step = 0; step < bed_steps; ++step) {
                    const std::size_t at = (step + chunk.index) % bed_steps;
                    sample::Batch& batch = drawn[chunk.index];
                    samplers[chunk.index].sample(key_of(at), seeds_[at], batch);
                    edges[chunk.index] += batch.edges();
                }
            });
            return static_cast<double>(
                std::accumulate(edges.begin(), edges.end(), std::uint64_t{0}));
        });
    }
    double gathered() {
        std::vector<float> rows;
        return rate([&] {
            double bytes = 0;
            for (const sample::Batch& batch : batches_)
                bytes += static_cast<double>(gather(batch, rows).size_bytes());
            return bytes;
        });
    }
    /// The input rows of a batch, in `memory`.
    std::span<const float> gather(const sample::Batch& batch, std::vector<float>& memory) {
        const std::size_t floats = batch.vertices.size() * bed_width;
        if (memory.size() < floats) memory.resize(floats);
        const store::RowsWanted wanted{
            {batch.vertices.data(), batch.vertices.size()}, std::span(memory).first(floats), true};
        static_cast<void>(store_.pull({&wanted, 1}).wait());
        return std::span<const float>(memory).first(floats);
    }
    double multiplied() {
        constexpr std::size_t in = 2 * bed_width;
        constexpr std::size_t stride = nn::aligned_columns(in);
        const std::size_t chunks = chunk_count(product_rows, nn::chunk_rows);
        auto x = Array<float>::zeroed(product_rows * stride);
        auto w = Array<float>::zeroed(bed_hidden * stride);
        auto y = Array<float>::zeroed(product_rows * bed_hidden);
        auto sums = Array<float>::zeroed(chunks * bed_hidden * stride);
        const nn::Matrix xs{x.data(), product_rows, in, stride};
        const nn::Matrix ws{w.data(), bed_hidden, in, stride};
        const nn::Matrix ys{y.data(), product_rows, bed_hidden, bed_hidden};
        return rate([&] {
            parallel_chunks(product_rows, nn::chunk_rows, [&](const Chunk& c) {
                const std::size_t rows = c.end - c.begin;
                const nn::Matrix sum{sums.data() + c.index * bed_hidden * stride, bed_hidden, in,
                                     stride};
                nn::multiply_transposed(xs.part(c.begin, rows), ws, ys.part(c.begin, rows));
                nn::multiply_first_transposed(ys.part(c.begin, rows), xs.part(c.begin, rows), sum,
                                              nn::Accumulate::no);
                nn::multiply(ys.part(c.begin, rows), ws, xs.part(c.begin, rows));
            });
            return 3.0 * 2 * product_rows * in * bed_hidden;
        });
    }
    double aggregated() {
        std::vector<float> memory;
        const sample::Batch& batch = batches_.front();
        const sample::Block& block = batch.blocks.front();
        const std::span<const float> rows = gather(batch, memory);
        const nn::ConstMatrix table{rows.data(), batch.vertices.size(), bed_width, bed_width};
        constexpr std::size_t stride = nn::aligned_columns(bed_width);
        auto means = Array<float>::zeroed(block.destinations * stride);
        const nn::Matrix out{means.data(), block.destinations, bed_width, stride};
        return rate([&] {
            parallel_chunks(block.destinations, nn::chunk_rows, [&](const Chunk& c) {
                nn::mean_of_neighbours(block, table, static_cast<std::uint32_t>(c.begin),
                                       static_cast<std::uint32_t>(c.end),
                                       out.part(c.begin, c.end - c.begin));
            });
            return static_cast<double>(block.edges() + block.destinations) * bed_width *
                   sizeof(float);
        });
    }
    double decided() {
        const partition::Part& part = parts_.front();
        buffer::RowNumbering numbering(data_.book().vertices(), part.halo());
        std::vector<std::vector<buffer::RowKey>> steps;
        double all = 0;
        for (const sample::Batch& batch : batches_) {
            std::vector<VertexId> ids;
            for (const VertexId v : batch.vertices) {
                if (!part.range().contains(v)) ids.push_back(v);
            }
            steps.emplace_back(ids.size());
            numbering.number(ids, steps.back());
            all += static_cast<double>(ids.size());
        }
        const auto slots =
            static_cast<buffer::SlotId>(std::max<std::size_t>(1, part.halo().size() / 4));
        const buffer::PolicyFacts facts{&numbering, {}, {}, {}, 0};
        return rate([&] {
            buffer::IdBuffer ids(buffer::PolicySpec::parse("window:16"), facts, slots, slots);
            for (std::size_t s = 0; s < steps.size(); ++s)
                ids.publish(s, steps[s]);
            for (std::size_t s = 0; s < steps.size(); ++s)
                static_cast<void>(ids.advance());
            return all;
        });
    }
    /// Steps of a whole network per second.
    double trained() {
        std::vector<float> memory;
        const sample::Batch& batch = batches_.front();
        const std::span<const float> rows = gather(batch, memory);
        nn::NetworkOptions options;
        options.inputs = bed_width;
        options.hidden = bed_hidden;
        options.outputs = bed_classes;
        const auto network = nn::make_network(options);
        auto gradient = Array<float>::zeroed(network->weights().size());
        std::vector<std::int32_t> classes;
        for (std::uint32_t s = 0; s < batch.seeds; ++s)
            classes.push_back(static_cast<std::int32_t>(s % bed_classes));
        nn::SeedTargets targets;
        targets.classes = classes;
        return rate([&] {
            network->train(batch, rows, targets, 1.0F / static_cast<float>(batch.seeds),
                           gradient.span(), [](std::size_t /*bucket*/) {});
            return 1.0;
        });
    }

    comm::Communicator comm_;
    double seconds_;
    FolderForNow folder_;
    partition::PartitionedDataset data_;
    std::vector<partition::Part> parts_;
    std::unique_ptr<sample::NeighbourSource> source_;
    sample::Schedule schedule_;
    store::FeatureStore store_;
    std::vector<std::vector<VertexId>> seeds_;
    std::vector<sample::Batch> batches_;
};

}  // namespace

std::vector<ComputeRates> measure_compute(const comm::Communicator& comm,
                                          const ComputeBenchOptions& options) {
    // Ranks that have one core each measure one thread alone, all alike.
    const auto threads = static_cast<int>(comm.all_min(thread_count()));
    ComputeBench bench(comm, options);
    std::vector<ComputeRates> rates{bench.measure(1)};
    if (threads > 1) rates.push_back(bench.measure(threads));
    return rates;
}

}  // namespace rudder::run
