// Fused mean, forward and backward, against torch's index_select + index_add_ and embedding_bag on
// the same number of threads: 60,000 rows, 180,000 edges, 128 and 256 columns.
#include <cstdio>
#include <cstdlib>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "rudder/core/array.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/aggregate.hpp"

#include "nn/random_batch.hpp"
#include "timing.hpp"

namespace {

using namespace rudder;

constexpr std::uint32_t sources = 60'000;
constexpr std::uint32_t destinations = 18'000;
constexpr std::uint32_t edges = 180'000;

Block make_block() {
    std::mt19937_64 random(1);
    Block block;
    block.destinations = destinations;
    block.sources = sources;
    block.offsets.push_back(0);
    for (std::uint32_t d = 0; d < destinations; ++d)
        block.offsets.push_back(
            static_cast<std::uint32_t>(std::uint64_t{edges} * (d + 1) / destinations));
    for (std::uint32_t e = 0; e < edges; ++e)
        block.neighbours.push_back(static_cast<LocalId>(random() % sources));
    return block;
}

/// Ours: forward in chunks of destinations, transposition, backward in chunks of sources.
struct Ours {
    const Block& block;
    std::size_t columns;
    Array<float> table;
    Array<float> means = Array<float>::zeroed(destinations * columns);
    Array<float> gradient = Array<float>::zeroed(destinations * columns);
    Array<float> back = Array<float>::zeroed(sources * columns);
    std::vector<std::uint32_t> offsets = std::vector<std::uint32_t>(sources + 1);
    std::vector<LocalId> readers = std::vector<LocalId>(edges);

    void run() {
        const ConstMatrix from{table.data(), sources, columns, columns};
        parallel_chunks(destinations, 256, [&](const Chunk& chunk) {
            mean_of_neighbours(
                block, from, static_cast<std::uint32_t>(chunk.begin),
                static_cast<std::uint32_t>(chunk.end),
                {means.data() + chunk.begin * columns, chunk.end - chunk.begin, columns, columns});
        });
        parallel_chunks(destinations, 256, [&](const Chunk& chunk) {
            std::copy(means.begin() + chunk.begin * columns, means.begin() + chunk.end * columns,
                      gradient.begin() + chunk.begin * columns);
            divide_by_neighbours(block, static_cast<std::uint32_t>(chunk.begin),
                                 static_cast<std::uint32_t>(chunk.end),
                                 {gradient.data() + chunk.begin * columns, chunk.end - chunk.begin,
                                  columns, columns});
        });
        const TransposedBlock transposed{offsets, readers};
        transpose(block, transposed);
        const GradientOfSources flow{{}, {gradient.data(), destinations, columns, columns}};
        parallel_chunks(sources, 1024, [&](const Chunk& chunk) {
            gather_gradient(
                transposed, flow, static_cast<std::uint32_t>(chunk.begin),
                static_cast<std::uint32_t>(chunk.end),
                {back.data() + chunk.begin * columns, chunk.end - chunk.begin, columns, columns});
        });
    }
};

/// The same in torch: what its operations need is made beforehand and not counted.
struct Torch {
    at::Tensor table, from, to, offsets, count, means, back;

    Torch(const Block& block, const Array<float>& rows, std::int64_t columns) {
        table = at::empty({sources, columns});
        std::copy(rows.begin(), rows.end(), table.data_ptr<float>());
        from = at::empty({edges}, at::kLong);
        to = at::empty({edges}, at::kLong);
        offsets = at::empty({destinations}, at::kLong);
        count = at::empty({destinations, 1});
        for (std::uint32_t d = 0; d < destinations; ++d) {
            offsets.data_ptr<std::int64_t>()[d] = block.offsets[d];
            count.data_ptr<float>()[d] =
                static_cast<float>(block.offsets[d + 1] - block.offsets[d]);
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
                from.data_ptr<std::int64_t>()[e] = block.neighbours[e];
                to.data_ptr<std::int64_t>()[e] = d;
            }
        }
    }
    void index_add() {
        means = at::zeros({destinations, table.size(1)});
        means.index_add_(0, to, table.index_select(0, from)).div_(count);
        back = at::zeros({sources, table.size(1)});
        back.index_add_(0, from, (means / count).index_select(0, to));
    }
    void embedding_bag() {
        constexpr int mean_mode = 1;
        const auto [out, bag, size, most] =
            at::_embedding_bag(table, from, offsets, false, mean_mode);
        means = out;
        back = at::_embedding_bag_dense_backward(out, from, bag, size, most, sources, false,
                                                 mean_mode, {});
    }
};

double largest_difference(const Array<float>& ours, const at::Tensor& theirs) {
    double most = 0;
    for (std::size_t i = 0; i < ours.size(); ++i)
        most = std::max(most, std::abs(static_cast<double>(ours[i]) -
                                       static_cast<double>(theirs.data_ptr<float>()[i])));
    return most;
}

}  // namespace

int main() {
    const Block block = make_block();
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        at::set_num_threads(threads);
        for (const std::size_t columns : {128U, 256U}) {
            Ours ours{block, columns,
                      Array<float>::copy_of(testing::random_floats(sources * columns, 1))};
            Torch torch(block, ours.table, static_cast<std::int64_t>(columns));
            std::vector<bench::Side> sides{{"fused", [&] { ours.run(); }},
                                           {"index_add_", [&] { torch.index_add(); }},
                                           {"embedding_bag", [&] { torch.embedding_bag(); }}};
            bench::measure(sides, 9);
            const double bag = largest_difference(ours.back, torch.back);
            torch.index_add();
            const double add = largest_difference(ours.back, torch.back);
            std::printf("%d threads, %zu columns:", threads, columns);
            for (const bench::Side& side : sides)
                std::printf("  %s %.2f ms (%.2fx)", side.name.c_str(), side.milliseconds,
                            side.milliseconds / sides[0].milliseconds);
            std::printf("  (differences %.1e, %.1e)\n", add, bag);
        }
    }
    return 0;
}
