#include "train/exact_bed.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "train/steps/seed_targets.hpp"

namespace rudder::test {

namespace {

/// Collects what the sinks of all ranks are given.
class Collector {
public:
    Collector(VertexId vertices, std::size_t outputs) : vertices_(vertices), outputs_(outputs) {
        seen_.resize(vertices);
        rows_.scores.resize(vertices * outputs);
    }
    void operator()(const train::InferredRows& rows) {
        const std::size_t hidden = rows.hidden.size() / std::max<std::size_t>(1, rows.count);
        rows_.hidden.resize(vertices_ * hidden);
        const std::size_t first = rows.part.range().begin + rows.first;
        ASSERT_EQ(rows.scores.size(), rows.count * outputs_);
        std::ranges::copy(rows.scores,
                          rows_.scores.begin() + static_cast<std::ptrdiff_t>(first * outputs_));
        std::ranges::copy(rows.hidden,
                          rows_.hidden.begin() + static_cast<std::ptrdiff_t>(first * hidden));
        for (std::size_t i = 0; i < rows.count; ++i)
            EXPECT_EQ(seen_[first + i]++, 0) << "vertex " << first + i;
    }
    AllRows take(const train::InferenceResult& result) {
        EXPECT_EQ(std::ranges::count(seen_, 1), static_cast<std::ptrdiff_t>(vertices_));
        rows_.sums = result.scores;
        rows_.scored = result.scored;
        return std::move(rows_);
    }

private:
    VertexId vertices_;
    std::size_t outputs_;
    std::vector<int> seen_;
    AllRows rows_;
};

/// A layer of GraphSAGE as the formula says it.
std::vector<double> naive_layer(const std::vector<partition::Part>& parts,
                                const nn::Network& network, std::span<const float> weights,
                                std::size_t layer, const std::vector<double>& input, bool last) {
    const std::size_t in = network.layer_inputs(layer);
    const std::size_t out = network.layer_outputs(layer);
    const auto values = [&](std::size_t i) {
        return weights.data() + network.parameters()[3 * layer + i].offset;
    };
    const float* self = values(0);
    const float* neigh = values(1);
    const float* bias = values(2);
    std::vector<double> result(input.size() / in * out);
    for (const partition::Part& part : parts) {
        for (std::size_t i = 0; i < part.own(); ++i) {
            const auto row = part.row(static_cast<LocalId>(i));
            std::vector<double> mean(in, 0);
            for (const LocalId u : row) {
                for (std::size_t c = 0; c < in; ++c)
                    mean[c] += input[part.global(u) * in + c] / static_cast<double>(row.size());
            }
            const std::size_t v = part.range().begin + i;
            for (std::size_t o = 0; o < out; ++o) {
                double sum = static_cast<double>(bias[o]);
                for (std::size_t c = 0; c < in; ++c) {
                    sum += input[v * in + c] * static_cast<double>(self[o * in + c]) +
                           mean[c] * static_cast<double>(neigh[o * in + c]);
                }
                result[v * out + o] = last ? sum : std::max(0.0, sum);
            }
        }
    }
    return result;
}

/// Cross-entropy and right answers of a vertex of a class.
void add_naively(const std::vector<double>& scores, std::size_t v, std::size_t outputs,
                 std::int32_t label, train::Score& score) {
    const double* row = scores.data() + v * outputs;
    double sum = 0;
    for (std::size_t c = 0; c < outputs; ++c)
        sum += std::exp(row[c]);
    score.loss += std::log(sum) - row[label];
    score.correct += std::max_element(row, row + outputs) - row == label ? 1U : 0U;
    ++score.answers;
}

}  // namespace

bool operator==(const AllRows& a, const AllRows& b) {
    const auto same = [](const train::Score& x, const train::Score& y) {
        return x.correct == y.correct && x.answers == y.answers && x.loss == y.loss;
    };
    return a.scores == b.scores && a.hidden == b.hidden && a.scored == b.scored &&
           same(a.sums.train, b.sums.train) && same(a.sums.valid, b.sums.valid) &&
           same(a.sums.test, b.sums.test);
}

train::SavedNetwork random_network(const partition::PartitionedDataset& data, int layers,
                                   std::uint64_t hidden, std::uint64_t seed,
                                   const std::string& model) {
    train::SavedNetwork saved;
    saved.options = {
        .model = model,
        .objective = train::objective_of(train::TaskKind::vertex, data.info().targets, "test"),
        .inputs = data.info().features.width,
        .hidden = hidden,
        .outputs = data.info().targets.count,
        .layers = layers,
        .seed = seed};
    const auto network = nn::make_network(saved.options);
    saved.weights.assign(network->weights().begin(), network->weights().end());
    // Biases begin as zeroes in some models, statistics as those of nothing: no test of anything.
    for (std::size_t i = 0; i < saved.weights.size(); ++i) {
        if (saved.weights[i] == 0) saved.weights[i] = static_cast<float>(i % 7) * 0.03F - 0.05F;
    }
    saved.data = data.folder().path().string();
    saved.data_checksum = train::data_checksum(data);
    return saved;
}

AllRows infer_alone(const partition::PartitionedDataset& data, const train::SavedNetwork& saved,
                    std::uint64_t memory) {
    Collector collector(data.info().vertices, saved.options.outputs);
    return collector.take(
        train::run_inference(comm::Communicator::local(), data, saved, {.memory = memory},
                             [&](const train::InferredRows& rows) { collector(rows); }));
}

AllRows infer_simulated(const partition::PartitionedDataset& data, const train::SavedNetwork& saved,
                        const comm::SimulationOptions& cluster, std::uint64_t memory) {
    Collector collector(data.info().vertices, saved.options.outputs);
    std::vector<train::InferenceResult> results(static_cast<std::size_t>(cluster.ranks));
    comm::SimulatedCluster machines(cluster);
    machines.run([&](const comm::Communicator& comm) {
        results[static_cast<std::size_t>(comm.rank())] =
            train::run_inference(comm, data, saved, {.memory = memory},
                                 [&](const train::InferredRows& rows) { collector(rows); });
    });
    for (const train::InferenceResult& result : results) {
        EXPECT_EQ(result.scores.valid.loss, results.front().scores.valid.loss);
        EXPECT_EQ(result.scored, results.front().scored);
    }
    return collector.take(results.front());
}

std::vector<float> predict_at_once(const partition::PartitionedDataset& data,
                                   const train::SavedNetwork& saved) {
    const std::vector<partition::Part> parts = data.all_parts();
    sample::Batch batch;
    sample::Block block;
    block.offsets.push_back(0);
    for (const partition::Part& part : parts) {
        for (std::size_t i = 0; i < part.own(); ++i) {
            const auto row = part.row(static_cast<LocalId>(i));
            for (const LocalId u : row)
                block.neighbours.push_back(static_cast<LocalId>(part.global(u)));
            for (EdgeIndex e = part.offsets()[i];
                 saved.options.edge_inputs > 0 && e < part.offsets()[i + 1]; ++e) {
                const graph::FeatureView features = part.edge_data().features;
                block.features.resize(block.features.size() + features.info.width);
                graph::decode_row(features.info, features.row(e), {},
                                  std::span(block.features).last(features.info.width));
            }
            block.offsets.push_back(block.edges());
            batch.vertices.push_back(part.range().begin + i);
            batch.degrees.push_back(static_cast<std::uint32_t>(row.size()));
        }
    }
    block.destinations = static_cast<std::uint32_t>(data.info().vertices);
    block.sources = block.destinations;
    batch.seeds = block.destinations;
    batch.blocks.assign(static_cast<std::size_t>(saved.options.layers), block);
    std::vector<float> rows(data.info().vertices * data.info().features.width);
    store::FeatureStore store(comm::Communicator::local(), data, {});
    const store::RowsWanted wanted{batch.vertices, rows};
    store.pull(std::span(&wanted, 1)).wait();
    store.stop();
    const auto network = nn::make_network(saved.options);
    std::ranges::copy(saved.weights, network->weights().begin());
    std::vector<float> scores(data.info().vertices * saved.options.outputs);
    network->predict(batch, rows, scores);
    return scores;
}

AllRows infer_naively(const partition::PartitionedDataset& data, const train::SavedNetwork& saved) {
    const std::vector<partition::Part> parts = data.all_parts();
    const auto network = nn::make_network(saved.options);
    const std::size_t width = data.info().features.width;
    std::vector<double> rows(data.info().vertices * width);
    std::vector<float> row(width);
    for (const partition::Part& part : parts) {
        const graph::FeatureView view = part.features();
        for (std::size_t i = 0; i < part.own(); ++i) {
            graph::decode_row(data.info().features, view.row(i), view.scale, row);
            std::ranges::copy(
                row, rows.begin() + static_cast<std::ptrdiff_t>((part.range().begin + i) * width));
        }
    }
    AllRows all;
    for (std::size_t l = 0; l < network->layers(); ++l) {
        const bool last = l + 1 == network->layers();
        if (last && l > 0) all.hidden.assign(rows.begin(), rows.end());
        rows = naive_layer(parts, *network, saved.weights, l, rows, last);
    }
    all.scores.assign(rows.begin(), rows.end());
    for (const partition::Part& part : parts) {
        for (std::size_t i = 0; i < part.own(); ++i) {
            const graph::Role role = part.roles()[i];
            train::Score* const of_role = role == graph::Role::train   ? &all.sums.train
                                          : role == graph::Role::valid ? &all.sums.valid
                                          : role == graph::Role::test  ? &all.sums.test
                                                                       : nullptr;
            if (of_role == nullptr || part.targets().classes.empty()) continue;
            const std::int32_t label = part.targets().classes[i];
            if (label < 0) continue;
            add_naively(rows, part.range().begin + i, saved.options.outputs, label, *of_role);
        }
    }
    return all;
}

void expect_near(const AllRows& exact, const AllRows& naive) {
    const auto compare = [](const std::vector<float>& a, const std::vector<float>& b) {
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i)
            ASSERT_NEAR(a[i], b[i], 1e-5F * std::max(1.0F, std::fabs(b[i]))) << i;
    };
    compare(exact.scores, naive.scores);
    compare(exact.hidden, naive.hidden);
    const auto compare_sums = [](const train::Score& a, const train::Score& b) {
        EXPECT_EQ(a.answers, b.answers);
        EXPECT_NEAR(a.loss, b.loss, 1e-4 * std::max(1.0, b.loss));
        // Two classes may score so near each other that rounding decides.
        EXPECT_NEAR(static_cast<double>(a.correct), static_cast<double>(b.correct), 1);
    };
    compare_sums(exact.sums.train, naive.sums.train);
    compare_sums(exact.sums.valid, naive.sums.valid);
    compare_sums(exact.sums.test, naive.sums.test);
}

}  // namespace rudder::test
