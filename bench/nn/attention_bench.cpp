// The attention of one GAT layer, forward and backward, fused against plain torch operations.
//
// Both start from the mapped rows of the sources and end with their gradient and that of the two
// attention vectors, for a given gradient of the output; the linear map is no part of it. Torch
// does what PyG's layer does: select by index, leaky rectifier, softmax by destination (largest
// taken off first), product, index_add; backward by autograd. Its index tensors are made
// beforehand.
#include <cmath>
#include <cstdio>

#include <torch/torch.h>

#include "rudder/core/array.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/attention.hpp"
#include "rudder/nn/linear.hpp"

#include "nn/random_batch.hpp"
#include "timing.hpp"

namespace {

using namespace rudder;

constexpr std::size_t destinations = 15'000;
constexpr std::size_t sources = 85'000;

Block make_block(std::uint32_t fanout) {
    std::mt19937_64 random(5);
    Block block;
    block.destinations = destinations;
    block.sources = sources;
    block.offsets.push_back(0);
    for (std::size_t d = 0; d < destinations; ++d) {
        const std::uint64_t degree = 1 + random() % fanout;
        for (std::uint64_t e = 0; e < degree; ++e)
            block.neighbours.push_back(static_cast<LocalId>(random() % sources));
        block.offsets.push_back(block.edges());
    }
    return block;
}

struct Fused {
    const Block& block;
    Heads heads;
    const std::vector<float>& rows;
    const std::vector<float>& output_gradient;
    const std::vector<float>& vectors;
    std::size_t width = heads.width();
    Array<float> values = Array<float>::uninitialised(sources * width);
    Array<float> source_scores = Array<float>::uninitialised(sources * heads.count);
    Array<float> destination_scores = Array<float>::uninitialised(destinations * heads.count);
    Array<float> alphas = Array<float>::uninitialised(entry_count(block) * heads.count);
    Array<float> deltas = Array<float>::uninitialised(entry_count(block) * heads.count);
    Array<float> out = Array<float>::uninitialised(destinations * width);
    Array<float> source_sums = Array<float>::uninitialised(sources * heads.count);
    Array<float> destination_sums = Array<float>::uninitialised(destinations * heads.count);
    Array<float> back = Array<float>::uninitialised(sources * width);
    Array<std::uint32_t> offsets = Array<std::uint32_t>::uninitialised(sources + 1);
    Array<LocalId> readers = Array<LocalId>::uninitialised(block.edges());
    Array<std::uint32_t> edges = Array<std::uint32_t>::uninitialised(block.edges());
    Lanes lanes{sources};
    Array<float> sums = Array<float>::uninitialised(2 * LaneColumns::floats(lanes, width));
    std::vector<float> vector_gradient = std::vector<float>(2 * width);

    /// What the layer's product leaves; not counted.
    void reset() { std::copy(rows.begin(), rows.end(), values.begin()); }

    void run() {
        const auto number = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
        const Matrix z{values.data(), sources, width, width};
        const ConstMatrix gradient{output_gradient.data(), destinations, width, width};
        const Attention attention{&block, heads, z, alphas.data(), deltas.data()};
        const AdditiveScores scores{source_scores.data(), destination_scores.data()};
        const float* destination_vector = vectors.data() + width;
        parallel_chunks(sources, chunk_rows, [&](const Chunk& c) {
            head_products(heads, z.part(c.begin, c.end - c.begin), vectors.data(),
                          source_scores.data() + c.begin * heads.count);
        });
        parallel_chunks(destinations, chunk_rows, [&](const Chunk& c) {
            head_products(heads, z.part(c.begin, c.end - c.begin), destination_vector,
                          destination_scores.data() + c.begin * heads.count);
        });
        parallel_chunks(destinations, chunk_rows, [&](const Chunk& c) {
            attend(attention, scores, number(c.begin), number(c.end),
                   {out.data() + c.begin * width, c.end - c.begin, width, width});
        });
        const TransposedBlock transposed{offsets.span(), readers.span(), edges.span()};
        transpose(block, transposed);
        parallel_chunks(destinations, chunk_rows, [&](const Chunk& c) {
            attend_backward(attention, scores, gradient, number(c.begin), number(c.end),
                            destination_sums.data());
        });
        const LaneColumns first(sums.data(), lanes, width);
        const LaneColumns second(sums.data() + LaneColumns::floats(lanes, width), lanes, width);
        parallel_chunks(sources, lanes.size, [&](const Chunk& lane) {
            first.clear(lane.index);
            second.clear(lane.index);
            const std::size_t count = lane.end - lane.begin;
            const Matrix through{back.data() + lane.begin * width, count, width, width};
            gather_attention(attention, transposed, gradient, number(lane.begin), number(lane.end),
                             source_sums.data(), through);
            finish_additive(heads,
                            {vectors.data(), destination_vector, first.lane(lane.index),
                             second.lane(lane.index)},
                            through, source_sums.data(), destination_sums.data(), destinations,
                            lane.begin, z.part(lane.begin, count));
        });
        first.finish(vector_gradient.data());
        second.finish(vector_gradient.data() + width);
    }
};

struct Torch {
    torch::Tensor rows, vectors, output_gradient, from, to, out;
    std::int64_t heads;

    Torch(const Block& block, const Heads& shape, const std::vector<float>& z,
          const std::vector<float>& vector, const std::vector<float>& gradient)
        : heads(static_cast<std::int64_t>(shape.count)) {
        const auto columns = static_cast<std::int64_t>(shape.columns);
        const auto fill = [](const std::vector<float>& values, torch::IntArrayRef size) {
            auto tensor = torch::empty(size);
            std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
            return tensor;
        };
        rows = fill(z, {sources, heads, columns}).requires_grad_();
        vectors = fill(vector, {2, heads, columns}).requires_grad_();
        output_gradient = fill(gradient, {destinations, heads, columns});
        std::vector<std::int64_t> s;
        std::vector<std::int64_t> d;
        for (std::uint32_t i = 0; i < block.destinations; ++i) {
            s.push_back(i);
            d.push_back(i);
            for (std::uint32_t e = block.offsets[i]; e < block.offsets[i + 1]; ++e) {
                s.push_back(block.neighbours[e]);
                d.push_back(i);
            }
        }
        from = torch::tensor(s, torch::kLong);
        to = torch::tensor(d, torch::kLong);
    }

    void run() {
        rows.mutable_grad() = torch::Tensor();
        vectors.mutable_grad() = torch::Tensor();
        const auto source = (rows * vectors[0]).sum(2);
        const auto destination = (rows.slice(0, 0, destinations) * vectors[1]).sum(2);
        const auto scores =
            torch::leaky_relu(source.index_select(0, from) + destination.index_select(0, to), 0.2);
        const auto top = torch::zeros({destinations, heads})
                             .scatter_reduce(0, to.unsqueeze(1).expand({-1, heads}),
                                             scores.detach(), "amax", false);
        const auto raised = (scores - top.index_select(0, to)).exp();
        const auto sums = torch::zeros({destinations, heads}).index_add(0, to, raised);
        const auto alpha = raised / sums.index_select(0, to);
        out = torch::zeros({destinations, heads, rows.size(2)})
                  .index_add(0, to, rows.index_select(0, from) * alpha.unsqueeze(2));
        out.backward(output_gradient);
    }
};

/// The largest difference, relative to the largest value.
double difference(const float* a, const torch::Tensor& tensor) {
    const auto whole = tensor.detach().contiguous();
    const float* b = whole.data_ptr<float>();
    double most = 0;
    double off = 0;
    for (std::int64_t i = 0; i < whole.numel(); ++i) {
        most = std::max(most, std::fabs(static_cast<double>(b[i])));
        off = std::max(off, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return off / most;
}

void compare(const Heads& heads, std::uint32_t fanout) {
    const Block block = make_block(fanout);
    const auto rows = testing::random_floats(sources * heads.width(), 1);
    const auto vectors = testing::random_floats(2 * heads.width(), 2, 0.3F);
    const auto gradient = testing::random_floats(destinations * heads.width(), 3);
    Fused fused{block, heads, rows, gradient, vectors};
    Torch torch_side(block, heads, rows, vectors, gradient);
    std::vector<bench::Side> sides{{"fused", [&] { fused.run(); }},
                                   {"torch", [&] { torch_side.run(); }}};
    fused.reset();
    fused.run();
    torch_side.run();
    const double worst =
        std::max({difference(fused.out.data(), torch_side.out),
                  difference(fused.values.data(), torch_side.rows.grad()),
                  difference(fused.vector_gradient.data(), torch_side.vectors.grad())});
    // Further runs start from gradients instead of rows, which takes the same time.
    bench::measure(sides, 9);
    std::printf(
        "%zu heads x %zu, %u edges: fused %.1f ms, torch %.1f ms: %.1f times; "
        "largest difference %.1e\n",
        heads.count, heads.columns, block.edges(), sides[0].milliseconds, sides[1].milliseconds,
        sides[1].milliseconds / sides[0].milliseconds, worst);
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    set_thread_count(threads);
    torch::set_num_threads(threads);
    std::printf("%d threads; %zu destinations, %zu sources\n", threads, destinations, sources);
    compare({4, 64}, 20);
    compare({8, 32}, 20);
    compare({1, 128}, 20);
    compare({4, 64}, 50);
    return 0;
}
