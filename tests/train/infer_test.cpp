// A network on a graph in memory: the bits of exact inference, from any threads, and refusals.
#include "rudder/train/infer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "train/exact_bed.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;

/// A partitioned data set as arrays in memory, in its own order.
struct InMemory {
    std::vector<EdgeIndex> offsets{0};
    std::vector<std::uint64_t> neighbours;
    graph::FeatureInfo info;
    std::vector<std::byte> rows;
    std::vector<float> scale;

    explicit InMemory(const partition::PartitionedDataset& data) : info(data.info().features) {
        for (const partition::Part& part : data.all_parts()) {
            for (std::size_t i = 0; i < part.own(); ++i) {
                for (const LocalId u : part.row(static_cast<LocalId>(i)))
                    neighbours.push_back(part.global(u));
                offsets.push_back(neighbours.size());
            }
            const graph::FeatureView view = part.features();
            rows.insert(rows.end(), view.bytes().begin(), view.bytes().end());
            scale.assign(view.scale.begin(), view.scale.end());
        }
    }
    [[nodiscard]] graph::TopologyView graph() const {
        return {offsets, std::span<const std::uint64_t>(neighbours)};
    }
    [[nodiscard]] graph::FeatureView view() const {
        return {info, offsets.size() - 1, rows.data(), scale};
    }
};

/// The folder of a run that left this network.
std::filesystem::path write_run(const std::filesystem::path& run,
                                const train::SavedNetwork& saved) {
    train::Checkpoint c;
    c.identity = {.network = saved.options,
                  .train = saved.train,
                  .data = saved.data,
                  .data_checksum = saved.data_checksum,
                  .trained_on = saved.trained_on};
    const auto network = nn::make_network(saved.options);
    c.parameters.assign(network->parameters().begin(), network->parameters().end());
    c.weights = saved.weights;
    c.state.step = 9;
    return train::write_checkpoint(run, c);
}

class Infer : public testing::Test {
protected:
    partition::PartitionedDataset make(const SmallGraph& graph) {
        const auto place = folder_ / std::to_string(made_++);
        std::filesystem::create_directories(place);
        return make_parts(place, graph);
    }
    static train::SavedNetwork saved_for(const partition::PartitionedDataset& data,
                                         const std::string& model = "sage", int layers = 2,
                                         std::uint64_t hidden = 8) {
        train::SavedNetwork saved = random_network(data, layers, hidden, 5, model);
        saved.trained_on = train::trained_on(train::TaskKind::vertex, data.info());
        return saved;
    }
    train::Model open(const train::SavedNetwork& saved) {
        const auto run = folder_ / ("run-" + std::to_string(made_++));
        static_cast<void>(write_run(run, saved));
        return train::Model::open(run);
    }
    static std::string refusal(const std::function<void()>& body) {
        try {
            body();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            return error.what();
        }
        return "no error";
    }

    TempDir folder_;
    int made_ = 0;
};

TEST_F(Infer, HasTheBitsOfExactInference) {
    const std::vector<SmallGraph> graphs{
        {},
        {.width = 96, .words = 5},
        {.width = 96, .words = 5, .row_normalise = true, .parts = 1},
        {.width = 17, .type = ElementType::f16},
        {.targets = graph::TargetKind::regression, .type = ElementType::bf16}};
    for (const SmallGraph& graph : graphs) {
        const auto data = make(graph);
        const InMemory memory(data);
        for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
            // Hidden rows are wider than the scores: they are multiplied before they are summed.
            train::SavedNetwork saved = saved_for(data, model, 2, 24);
            for (const auto precision : {store::Precision::native, store::Precision::bfloat16}) {
                saved.train.precision = precision;
                const AllRows exact = infer_alone(data, saved);
                Answers answers;
                open(saved).infer(memory.graph(), memory.view(), answers, train::Embeddings::yes);
                EXPECT_EQ(answers.scores, exact.scores) << model << graph.words;
                EXPECT_EQ(answers.embeddings, exact.hidden) << model;
            }
        }
    }
}

TEST_F(Infer, KnowsNormsAndAnyDepth) {
    const auto data = make({});
    const InMemory memory(data);
    for (const char* norm : {"batch", "layer"}) {
        for (const int layers : {1, 2, 3, 4}) {
            train::SavedNetwork saved = saved_for(data, "sage", layers);
            saved.options.norm = norm;
            saved.options.residual = true;
            const auto network = nn::make_network(saved.options);
            saved.weights.assign(network->weights().begin(), network->weights().end());
            const AllRows exact = infer_alone(data, saved);
            Answers answers;
            open(saved).infer(memory.graph(), memory.view(), answers, train::Embeddings::yes);
            EXPECT_EQ(answers.scores, exact.scores) << norm << layers;
            EXPECT_EQ(answers.embeddings, exact.hidden) << norm << layers;
            EXPECT_EQ(answers.hidden, layers == 1 ? 0U : 8U);
        }
    }
}

TEST_F(Infer, TakesEdgesAsImportDoes) {
    const auto data = make({});
    const train::Model model = open(saved_for(data));
    const std::vector<graph::Edge> edges{{0, 1}, {2, 1}, {1, 0}, {3, 3}, {3, 0}};
    std::vector<float> rows(4 * 12);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = std::sin(static_cast<float>(i));
    const Answers found = infer(model, edges, model.rows(rows));
    const std::vector<EdgeIndex> offsets{0, 2, 4, 5, 6};
    const std::vector<std::uint32_t> neighbours{1, 3, 0, 2, 1, 0};
    const graph::TopologyView graph{offsets, std::span<const std::uint32_t>(neighbours)};
    EXPECT_EQ(found.scores, infer(model, graph, model.rows(rows)).scores);
    EXPECT_EQ(found.vertices(), 4U);
    for (VertexId v = 0; v < 4; ++v) {
        for (const float score : found.row(v))
            EXPECT_LE(score, found.row(v)[found.best(v)]);
    }
    const Answers directed =
        infer(model, edges, model.rows(rows), {.symmetrise = false, .keep_self_loops = true});
    EXPECT_NE(directed.scores, found.scores);
    EXPECT_EQ(infer(model, std::span<const graph::Edge>(), model.rows({})).vertices(), 0U);
}

TEST_F(Infer, SeveralThreadsAskAtOnce) {
    const auto data = make({});
    const auto other = make({.vertices = 180, .seed = 3});
    const InMemory large(data);
    const InMemory small(other);
    const train::Model model = open(saved_for(data, "gcn"));
    const Answers of_large = infer(model, large.graph(), large.view());
    const Answers of_small = infer(model, small.graph(), small.view());
    EXPECT_EQ(of_small.vertices(), 180U);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            Answers answers;
            for (int i = 0; i < 10; ++i) {
                const bool first = (i + t) % 2 == 0;
                const InMemory& memory = first ? large : small;
                model.infer(memory.graph(), memory.view(), answers);
                EXPECT_EQ(answers.scores, (first ? of_large : of_small).scores);
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
}

TEST_F(Infer, KeepsTheMemoryOfAnswers) {
    const auto data = make({});
    const InMemory memory(data);
    const train::Model model = open(saved_for(data));
    Answers answers;
    model.infer(memory.graph(), memory.view(), answers, train::Embeddings::yes);
    const std::vector<float> first = answers.scores;
    const float* const scores = answers.scores.data();
    const float* const embeddings = answers.embeddings.data();
    model.infer(memory.graph(), memory.view(), answers, train::Embeddings::yes);
    EXPECT_EQ(answers.scores.data(), scores);
    EXPECT_EQ(answers.embeddings.data(), embeddings);
    EXPECT_EQ(answers.scores, first);
}

TEST_F(Infer, OpensARunOrOneOfItsCheckpoints) {
    const auto data = make({.names = {"a", "b", "c", "d"}});
    const train::SavedNetwork saved = saved_for(data);
    const auto checkpoint = write_run(folder_ / "run", saved);
    for (const auto& folder : {folder_ / "run", checkpoint}) {
        const train::Model model = train::Model::open(folder);
        EXPECT_EQ(model.step(), 9U);
        EXPECT_EQ(model.network().inputs, 12U);
        const auto names = model.class_names();
        EXPECT_THAT(std::vector<std::string>(names.begin(), names.end()),
                    testing::ElementsAre("a", "b", "c", "d"));
    }
    EXPECT_THAT(refusal([&] { static_cast<void>(train::Model::open(folder_ / "nowhere")); }),
                HasSubstr("run not found"));
    train::SavedNetwork fewer = saved;
    fewer.options.hidden = 4;
    fewer.options.model = "gcn";
    train::Checkpoint c = train::read_checkpoint(checkpoint);
    c.identity.network = fewer.options;
    static_cast<void>(train::write_checkpoint(folder_ / "bad", c));
    EXPECT_THAT(refusal([&] { static_cast<void>(train::Model::open(folder_ / "bad")); }),
                HasSubstr("weights, and such a network has"));
}

TEST_F(Infer, RowsOfAQuantisedRunAreReadAsTheyAreGiven) {
    const auto data = make({});
    const InMemory memory(data);
    train::SavedNetwork saved = saved_for(data);
    const AllRows exact = infer_alone(data, saved);
    saved.train.precision = store::Precision::int4;
    EXPECT_EQ(infer(open(saved), memory.graph(), memory.view()).scores, exact.scores);
}

TEST_F(Infer, PlainRowsAreNormalisedAsThoseOfTheRun) {
    const auto data = make({.row_normalise = true});
    const InMemory memory(data);
    const train::SavedNetwork saved = saved_for(data);
    const train::Model model = open(saved);
    const auto* floats = reinterpret_cast<const float*>(memory.rows.data());
    const std::span<const float> plain(floats, memory.rows.size() / sizeof(float));
    EXPECT_EQ(infer(model, memory.graph(), model.rows(plain)).scores,
              infer_alone(data, saved).scores);
}

TEST_F(Infer, RowsOfEightBitsAreScaled) {
    const auto data = make({});
    InMemory memory(data);
    const train::Model model = open(saved_for(data));
    memory.info.type = ElementType::i8;
    memory.rows.resize(300 * 12);
    for (std::size_t i = 0; i < memory.rows.size(); ++i)
        memory.rows[i] = static_cast<std::byte>(i * 37 % 256);
    for (std::size_t c = 0; c < 12; ++c)
        memory.scale.push_back(0.01F * static_cast<float>(c + 1));
    std::vector<float> floats(300 * 12);
    for (VertexId v = 0; v < 300; ++v) {
        graph::decode_row(memory.info, memory.view().row(v), memory.scale,
                          std::span(floats).subspan(v * 12, 12));
    }
    EXPECT_EQ(infer(model, memory.graph(), memory.view()).scores,
              infer(model, memory.graph(), model.rows(floats)).scores);
}

TEST_F(Infer, WhatDoesNotFitIsRefused) {
    const auto data = make({});
    const InMemory memory(data);
    const train::Model model = open(saved_for(data));
    Answers answers;
    answers.scores = {42};
    const auto refused = [&](const InMemory& given) {
        return refusal([&] { model.infer(given.graph(), given.view(), answers); });
    };
    InMemory wide = memory;
    wide.info.width = 6;
    EXPECT_THAT(refused(wide), HasSubstr("rows of 6 columns; the network takes 12"));
    InMemory normalised = memory;
    normalised.info.row_normalise = true;
    EXPECT_THAT(refused(normalised), HasSubstr("not normalised"));
    InMemory typed = memory;
    typed.info.type = ElementType::i8;
    EXPECT_THAT(refused(typed), HasSubstr("int8 with 0 scales"));
    InMemory beyond = memory;
    beyond.neighbours[beyond.offsets[8]] = 300;
    EXPECT_THAT(refused(beyond), HasSubstr("id 300"));
    InMemory unsorted = memory;
    const auto row =
        std::ranges::adjacent_find(memory.offsets, [](auto a, auto b) { return b - a >= 2; });
    std::swap(unsorted.neighbours[*row], unsorted.neighbours[*row + 1]);
    EXPECT_THAT(refused(unsorted), HasSubstr("does not ascend"));
    InMemory shifted = memory;
    shifted.offsets.front() = 1;
    EXPECT_THAT(refused(shifted), HasSubstr("the first offset is 1"));
    InMemory longer = memory;
    longer.offsets.back() += 1;
    EXPECT_THAT(refused(longer), HasSubstr("last offset"));
    InMemory infinite = memory;
    const float bad = std::numeric_limits<float>::infinity();
    std::memcpy(infinite.rows.data() + (7 * 12 + 3) * sizeof(float), &bad, sizeof(bad));
    EXPECT_THAT(refused(infinite), HasSubstr("row 7"));
    EXPECT_THAT(refusal([&] {
                    graph::FeatureView fewer = memory.view();
                    --fewer.rows;
                    model.infer(memory.graph(), fewer, answers);
                }),
                HasSubstr("299 rows for 300 vertices"));
    EXPECT_THAT(refusal([&] { static_cast<void>(model.rows(std::vector<float>(13))); }),
                HasSubstr("13 floats are not whole rows of 12 columns"));
    const std::vector<graph::Edge> edges{{0, 1}, {1, 2}};
    EXPECT_THAT(refusal([&] {
                    static_cast<void>(infer(model, edges, model.rows(std::vector<float>(24))));
                }),
                HasSubstr("edge 1 -> 2: 2 rows were given"));
    EXPECT_EQ(answers.scores, (std::vector<float>{42})) << "left alone";
}

}  // namespace
}  // namespace rudder::test
