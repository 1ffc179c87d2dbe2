// Exact inference on npm_deps (100 random features, hidden 256, 2 parts, METIS) against the bare
// matrix products of its layers plus one pass over the edges of each, in the same run: 2 ranks.
//
//   ranks_train_exact FOLDER [MEMORY [ROUNDS]]
//
// FOLDER is for the partition, which is made there if it is not; MEMORY is of each rank. The
// products are of [own | mean] rows in the chunks the layers have; the pass over the edges is the
// mean of each vertex's neighbours, read from one table of rows. Both are of the layers as they are
// written, inputs before outputs, so that inference which multiplies first, or keeps sums, may take
// less. The pass over the edges is also set against a plain loop that copies the same rows.
#include <atomic>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "comm/figures.hpp"
#include "comm/mpi_transport.hpp"
#include "core/system.hpp"
#include "graph/generate/generate.hpp"
#include "graph/io/import.hpp"
#include "partition/partition.hpp"
#include "partition/share.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"
#include "rudder/nn/aggregate.hpp"
#include "rudder/nn/linear.hpp"
#include "train/evaluation/exact_evaluator.hpp"
#include "train/steps/seed_targets.hpp"

namespace {

using namespace rudder;
using bench::seconds;
using nn::aligned_columns;
namespace fs = std::filesystem;

void make_data(const fs::path& folder) {
    const fs::path real = fs::path(RUDDER_SOURCE_DIR) / "../shared/data/npm_deps.npz";
    if (fs::exists(real)) {
        graph::ImportOptions options;
        options.input = real;
        options.output = folder / "data";
        options.features = "random:100";
        graph::import_dataset(options);
    } else {
        fmt::print(stderr, "no {}: a generated graph takes its place\n", real.string());
        graph::GenerateOptions options;
        options.kind = "sbm";
        options.output = folder / "data";
        options.generator.vertices = 300'000;
        options.generator.classes = 40;
        graph::generate_dataset(options, Progress::none());
    }
    partition::PartitionOptions partition;
    partition.parts = 2;
    partition::partition_dataset(graph::Dataset(folder / "data"), folder / "parts", partition,
                                 Existing::refuse);
}

/// The products and the pass over the edges of one layer over one part.
class BareLayer {
public:
    BareLayer(const partition::Part& part, std::size_t in, std::size_t out)
        : rows_(part.own()),
          in_(in),
          out_(out),
          table_(Array<float>::zeroed((part.own() + part.halo().size()) * in)),
          joined_(Array<float>::zeroed(rows_ * aligned_columns(2 * in))),
          weights_(Array<float>::zeroed(out * aligned_columns(2 * in))),
          result_(Array<float>::zeroed(rows_ * aligned_columns(out))) {
        block_.destinations = static_cast<std::uint32_t>(part.own());
        block_.sources = static_cast<std::uint32_t>(part.own() + part.halo().size());
        for (const EdgeIndex offset : part.offsets())
            block_.offsets.push_back(static_cast<std::uint32_t>(offset));
        block_.neighbours.assign(part.neighbours().begin(), part.neighbours().end());
    }

    void products() {
        const nn::Matrix x{joined_.data(), rows_, 2 * in_, aligned_columns(2 * in_)};
        const nn::Matrix w{weights_.data(), out_, 2 * in_, aligned_columns(2 * in_)};
        const nn::Matrix y{result_.data(), rows_, out_, aligned_columns(out_)};
        parallel_chunks(rows_, nn::chunk_rows, [&](const Chunk& c) {
            nn::multiply_transposed(x.part(c.begin, c.end - c.begin), w,
                                    y.part(c.begin, c.end - c.begin));
        });
    }
    void edges() {
        const nn::ConstMatrix table{table_.data(), block_.sources, in_, in_};
        parallel_chunks(rows_, nn::chunk_rows, [&](const Chunk& c) {
            nn::mean_of_neighbours(block_, table, static_cast<std::uint32_t>(c.begin),
                                   static_cast<std::uint32_t>(c.end),
                                   {joined_.data() + c.begin * aligned_columns(2 * in_),
                                    c.end - c.begin, in_, aligned_columns(2 * in_)});
        });
    }

    /// The rows of the same neighbours, one by one into one place: as a plain loop reads them.
    void copies() {
        parallel_chunks(rows_, nn::chunk_rows, [&](const Chunk& c) {
            float* const to = joined_.data() + c.begin * aligned_columns(2 * in_);
            for (std::size_t e = block_.offsets[c.begin]; e < block_.offsets[c.end]; ++e)
                std::copy_n(table_.data() + block_.neighbours[e] * in_, in_, to);
        });
    }
    [[nodiscard]] double edge_bytes() const {
        return static_cast<double>(block_.edges()) * static_cast<double>(in_ * sizeof(float));
    }

private:
    std::size_t rows_, in_, out_;
    sample::Block block_;
    Array<float> table_, joined_, weights_, result_;
};

/// Seconds of the slowest rank.
template <class F>
double timed(const comm::Communicator& comm, F&& f) {
    comm.barrier();
    const double start = seconds();
    f();
    const auto mine = static_cast<std::int64_t>((seconds() - start) * 1e6);
    return static_cast<double>(comm.all_max(mine)) * 1e-6;
}

/// Memory of this process that is no file's, in bytes.
std::uint64_t anonymous_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
    }
    return 0;
}

/// By how much such memory grows at most while `f` runs.
template <class F>
std::uint64_t growth(F&& f) {
    const std::uint64_t before = anonymous_bytes();
    std::atomic<bool> done{false};
    std::uint64_t most = before;
    Task watcher = Executor::current().spawn("watcher", [&] {
        while (!done) {
            most = std::max(most, anonymous_bytes());
            Executor::current().sleep_for(std::chrono::milliseconds(2));
        }
    });
    f();
    done = true;
    watcher.join();
    return most - before;
}

void measure(const comm::Communicator& comm, const partition::PartitionedDataset& data,
             std::uint64_t memory, int rounds) {
    std::vector<partition::Part> parts;
    const partition::PartShare share = partition::share_of(data.parts(), comm.size(), comm.rank());
    for (PartId p = share.first; p < share.last; ++p)
        parts.push_back(data.part(p));
    const nn::NetworkOptions options{.objective = train::objective_of(data.info(), ""),
                                     .inputs = data.info().features.width,
                                     .hidden = 256,
                                     .outputs = data.info().targets.count};
    const auto network = nn::make_network(options);
    store::FeatureStore store(comm, data, {});
    train::ExactEvaluator evaluator(comm, data, parts, store,
                                    {.network = options, .memory = memory});
    train::Scores scores;
    // Once without a count: the library that multiplies takes memory of its own at its first use.
    BareLayer(parts.front(), 1, 1).products();
    const auto grown = comm.all_max(
        static_cast<std::int64_t>(growth([&] { evaluator.evaluate(*network, scores); })));
    std::vector<BareLayer> bare;
    for (const partition::Part& part : parts) {
        for (std::size_t l = 0; l < network->layers(); ++l)
            bare.emplace_back(part, network->layer_inputs(l), network->layer_outputs(l));
    }
    train::ExactEvaluator again(comm, data, parts, store,
                                {.network = options, .memory = memory, .again = true});
    again.evaluate(*network, scores);
    const auto each = [&](void (BareLayer::*part)()) {
        return timed(comm, [&] {
            for (BareLayer& layer : bare)
                (layer.*part)();
        });
    };
    std::vector<double> exact, later, products, edges, copies, ratios;
    for (int round = -1; round < rounds; ++round) {
        const double all = timed(comm, [&] { evaluator.evaluate(*network, scores); });
        const double kept = timed(comm, [&] { again.evaluate(*network, scores); });
        const double p = each(&BareLayer::products);
        const double e = each(&BareLayer::edges);
        const double c = each(&BareLayer::copies);
        if (round < 0) continue;
        exact.push_back(all);
        later.push_back(kept);
        products.push_back(p);
        edges.push_back(e);
        copies.push_back(c);
        ratios.push_back(all / (p + e));
    }
    double bytes = 0;
    for (const BareLayer& layer : bare)
        bytes += layer.edge_bytes();
    const double ratio = bench::median(ratios);
    const auto planned = comm.all_max(static_cast<std::int64_t>(evaluator.planned_bytes()));
    if (comm.rank() == 0) {
        bench::report(
            fmt::format("exact inference, {} ranks, over products and edges", comm.size()), ratio,
            "times", "<= 3", ratio <= 3,
            fmt::format(
                "{:.0f} ms against {:.0f} + {:.0f}, ratios {:.2f} to {:.2f}; a rank plans {} "
                "of {}, and grew by {}",
                bench::median(exact) * 1e3, bench::median(products) * 1e3,
                bench::median(edges) * 1e3, ratios.front(), ratios.back(),
                format_bytes(static_cast<std::uint64_t>(planned)),
                memory == 0 ? "what there is" : format_bytes(memory),
                format_bytes(static_cast<std::uint64_t>(grown))));
        fmt::print("with the sums of an evaluation before: {:.0f} ms\n",
                   bench::median(later) * 1e3);
        fmt::print("edges: {:.1f} GB/s per rank; a plain loop: {:.1f} GB/s\n",
                   bytes / bench::median(edges) * 1e-9, bytes / bench::median(copies) * 1e-9);
    }
    store.stop();
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.empty()) {
        fmt::print(stderr, "exact_bench: name a folder for its data set\n");
        return 2;
    }
    const comm::MpiSession session;
    const comm::Communicator comm(comm::make_mpi_transport({}));
    set_thread_count(std::max(1, usable_cores() / comm.size()));
    const fs::path folder = arguments[0];
    if (comm.rank() == 0 && !fs::exists(folder / "parts")) make_data(folder);
    comm.barrier();
    const partition::PartitionedDataset data(folder / "parts");
    const std::uint64_t memory =
        arguments.size() > 1 ? parse_bytes(arguments[1]).value_or(0) : std::uint64_t{0};
    measure(comm, data, memory, arguments.size() > 2 ? std::stoi(arguments[2]) : 7);
    return 0;
}
