// Graphs of several types whose edges and vertices have times: nothing later is drawn, of each type
// the newest, the same bits everywhere, and scores over all of the past.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "graph/io/import.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/parallel.hpp"
#include "train/fixture.hpp"
#include "train/loader.hpp"
#include "train/prediction/inference.hpp"
#include "train/saved_run.hpp"
#include "train/typed_parts.hpp"

#include "support/npz_bytes.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

constexpr std::int64_t span_of_times = 1000;

std::int64_t mixed(std::uint64_t a) {
    a = (a ^ a >> 31U) * 0x9e3779b97f4a7c15U;
    return static_cast<std::int64_t>((a ^ a >> 29U) % span_of_times);
}

/// A column of texts as NumPy keeps them.
std::string text_column(const std::vector<std::string>& words) {
    std::size_t longest = 1;
    for (const std::string& word : words)
        longest = std::max(longest, word.size());
    std::vector<char32_t> letters(words.size() * longest, U'\0');
    for (std::size_t i = 0; i < words.size(); ++i)
        std::ranges::copy(words[i], letters.begin() + static_cast<std::ptrdiff_t>(i * longest));
    return NpyBytes{"<U" + std::to_string(longest), "(" + std::to_string(words.size()) + ",)",
                    raw(letters)}
        .str();
}

/// The typed graph of generate, whose edges and vertices get times, in four parts.
partition::PartitionedDataset make_timed(const std::filesystem::path& folder) {
    static_cast<void>(make_typed_parts(folder / "plain", 400));
    const graph::Dataset plain(folder / "plain" / "data");
    const graph::DatasetInfo& info = plain.info();
    std::vector<std::int64_t> src;
    std::vector<std::int64_t> dst;
    std::vector<std::int64_t> edge_type;
    std::vector<std::int64_t> edge_time;
    const graph::TopologyView graph = plain.topology();
    for (VertexId v = 0; v < graph.vertices(); ++v) {
        for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
            const std::uint8_t type = plain.edge_data().type[e];
            const graph::EdgeType& of = info.types.edges[type];
            const VertexId u = graph.neighbours[e];
            if (of.reverse_of || (of.from == of.to && u > v)) continue;
            src.push_back(static_cast<std::int64_t>(u));
            dst.push_back(static_cast<std::int64_t>(v));
            edge_type.push_back(type);
            edge_time.push_back(mixed(e));
        }
    }
    std::vector<std::string> edge_types;
    for (const graph::EdgeType& type : info.types.edges) {
        edge_types.push_back(info.types.vertices[type.from].name + " " + type.name + " " +
                             info.types.vertices[type.to].name);
    }
    std::vector<std::string> node_types;
    std::vector<std::int64_t> node_type;
    std::vector<std::int64_t> node_time;
    std::vector<ZipEntry> entries;
    for (std::size_t t = 0; t < info.types.vertices.size(); ++t) {
        const graph::VertexType& type = info.types.vertices[t];
        node_types.push_back(type.name);
        node_type.insert(node_type.end(), type.vertices, static_cast<std::int64_t>(t));
        if (!type.features.present()) continue;
        const graph::FeatureView rows = plain.features(t);
        std::vector<float> floats(rows.rows * type.features.width);
        for (VertexId i = 0; i < rows.rows; ++i) {
            graph::decode_row(
                rows.info, rows.row(i), rows.scale,
                std::span(floats).subspan(i * type.features.width, type.features.width));
        }
        entries.push_back({"x_" + type.name, npy(floats, type.features.width)});
    }
    for (VertexId v = 0; v < info.vertices; ++v)
        node_time.push_back(span_of_times / 3 + mixed(v + 7777) * 2 / 3);
    const auto classes = plain.targets().classes;
    const std::vector<std::int64_t> y(classes.begin(), classes.end());
    entries.push_back({"node_types", text_column(node_types)});
    entries.push_back({"edge_types", text_column(edge_types)});
    entries.push_back({"node_type", npy(node_type)});
    entries.push_back({"edge_type", npy(edge_type)});
    entries.push_back({"src", npy(src)});
    entries.push_back({"dst", npy(dst)});
    entries.push_back({"edge_time", npy(edge_time)});
    entries.push_back({"node_time", npy(node_time)});
    entries.push_back({"y", npy(y)});
    const std::string bytes = zip(entries);
    write_text(folder / "timed.npz", bytes);
    graph::ImportOptions reading;
    reading.input = folder / "timed.npz";
    reading.output = folder / "timed";
    graph::import_dataset(reading);
    partition::PartitionOptions parts;
    parts.parts = 4;
    parts.method = "ldg";
    partition::partition_dataset(graph::Dataset(folder / "timed"), folder / "timed-parts", parts,
                                 Existing::refuse);
    return partition::PartitionedDataset(folder / "timed-parts");
}

class TypedTimes : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_timed(folder.path());
        return parts;
    }
    static train::TrainOptions options(sample::Temporal temporal) {
        train::TrainOptions options = small_options();
        options.temporal = temporal;
        options.sampler.reset();
        options.redraw.reset();
        options.type_fanout = "rejects:2,0;rev_writes:-1,1";
        return options;
    }
    /// (neighbour, type, time) of each row.
    struct Event {
        VertexId neighbour;
        std::uint8_t type;
        std::int64_t time;
    };
    static std::map<VertexId, std::vector<Event>> events() {
        std::map<VertexId, std::vector<Event>> all;
        for (const partition::Part& part : data().all_parts()) {
            for (VertexId v = 0; v < part.own(); ++v) {
                for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + 1]; ++e) {
                    all[part.range().begin + v].push_back({part.global(part.neighbours()[e]),
                                                           part.edge_data().type[e],
                                                           part.edge_data().time[e]});
                }
            }
        }
        return all;
    }
    static std::map<VertexId, std::int64_t> times() {
        std::map<VertexId, std::int64_t> all;
        for (const partition::Part& part : data().all_parts()) {
            for (VertexId v = 0; v < part.own(); ++v)
                all[part.range().begin + v] = part.vertex_times()[v];
        }
        return all;
    }
    static void expect_same(const Trained& a, const Trained& b) {
        EXPECT_EQ(a.result.digest, b.result.digest);
        EXPECT_EQ(a.weights, b.weights);
        ASSERT_EQ(a.result.epochs.size(), b.result.epochs.size());
        for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
            EXPECT_EQ(a.result.epochs[e].scores.valid.correct,
                      b.result.epochs[e].scores.valid.correct);
            EXPECT_EQ(a.result.epochs[e].scores.test.loss, b.result.epochs[e].scores.test.loss);
        }
    }
};

/// Of each type as many as the fan-out asks for or the past has, all of the past, and where the
/// newest are asked for no other.
TEST_F(TypedTimes, OnlyThePastIsDrawnTypeByType) {
    const auto rows = events();
    const auto time_of = times();
    const auto& types = data().info().types;
    for (const sample::Temporal temporal : {sample::Temporal::newest, sample::Temporal::uniform}) {
        train::TrainOptions asked = options(temporal);
        asked.epochs = 1;
        const auto sampling = train::typed_sampling(data(), asked);
        train::Loader loader(comm::Communicator::local(), data(), {.train = asked});
        std::uint64_t edges = 0;
        for (auto step = loader.next(); step != nullptr; step = loader.next()) {
            for (const sample::Batch& batch : step->sampled.batches) {
                for (std::size_t b = 0; b < batch.blocks.size(); ++b) {
                    const sample::Block& block = batch.blocks[b];
                    for (std::uint32_t d = 0; d < block.destinations; ++d) {
                        const VertexId v = batch.vertices[d];
                        const std::int64_t before = time_of.at(batch.vertices[batch.subgraphs[d]]);
                        std::vector<std::multiset<VertexId>> drawn(types.edges.size());
                        for (auto e = block.offsets[d]; e < block.offsets[d + 1U]; ++e, ++edges) {
                            EXPECT_EQ(batch.subgraphs[block.neighbours[e]], batch.subgraphs[d]);
                            drawn[block.types[e]].insert(batch.vertices[block.neighbours[e]]);
                        }
                        for (std::size_t t = 0; t < drawn.size(); ++t) {
                            std::vector<Event> past;
                            const auto row = rows.find(v);
                            for (const Event& event :
                                 row == rows.end() ? std::vector<Event>{} : row->second) {
                                if (event.type == t && event.time < before) past.push_back(event);
                            }
                            const std::int32_t fanout = sampling->fanout[b][t];
                            const std::size_t wanted =
                                fanout < 0 ? past.size()
                                           : std::min<std::size_t>(static_cast<std::size_t>(fanout),
                                                                   past.size());
                            ASSERT_EQ(drawn[t].size(), wanted);
                            std::multiset<VertexId> whole;
                            for (const Event& event : past)
                                whole.insert(event.neighbour);
                            EXPECT_TRUE(std::ranges::includes(whole, drawn[t]));
                            if (temporal != sample::Temporal::newest || wanted == 0) continue;
                            std::ranges::sort(past, {}, &Event::time);
                            const std::int64_t oldest = past[past.size() - wanted].time;
                            for (const Event& event : past) {
                                if (event.time <= oldest) continue;
                                EXPECT_TRUE(drawn[t].contains(event.neighbour));
                            }
                        }
                    }
                }
            }
        }
        EXPECT_GT(edges, 500U);
        loader.close();
    }
}

TEST_F(TypedTimes, TheSameEverywhere) {
    for (const sample::Temporal temporal : {sample::Temporal::newest, sample::Temporal::uniform}) {
        train::TrainOptions asked = options(temporal);
        asked.model = temporal == sample::Temporal::newest ? "sage" : "rgcn";
        const Trained alone = train_alone(data(), asked);
        EXPECT_NE(alone.result.digest, 0U);
        expect_closed(alone.result);
        set_thread_count(3);
        expect_same(train_alone(data(), asked), alone);
        set_thread_count(0);
        for (const int ranks : {2, 4}) {
            train::TrainOptions elsewhere = asked;
            elsewhere.topology =
                ranks == 2 ? train::TopologyChoice::partitioned : train::TopologyChoice::replicated;
            elsewhere.policy = ranks == 2 ? "lru" : "window";
            const auto all = train_simulated(data(), elsewhere, {.ranks = ranks, .seed = 5});
            for (const Trained& mine : all)
                expect_same(mine, alone);
            expect_closed(all.front().result);
        }
    }
}

TEST_F(TypedTimes, ResumedIsTheSame) {
    train::TrainOptions asked = options(sample::Temporal::uniform);
    asked.epochs = 2;
    asked.eval_every = 1;
    const TempDir folder;
    const auto whole = stretch(data(), asked, folder / "whole", 2, 0);
    const std::uint64_t steps = whole.front().result.steps;
    for (const std::uint64_t stop : {std::uint64_t{1}, steps / 2, steps - 1}) {
        const std::filesystem::path run = folder / std::to_string(stop);
        ASSERT_TRUE(stretch(data(), asked, run, 4, stop).front().result.interrupted);
        expect_same(stretch(data(), asked, run, 1, 0).front(), whole.front());
    }
}

/// What evaluation sees is all of the past, whatever the fan-outs.
TEST_F(TypedTimes, ScoresAreThoseOfAllOfThePast) {
    train::TrainOptions exact = options(sample::Temporal::uniform);
    const Trained fans = train_alone(data(), exact);
    exact.fanout = {-1, -1};
    exact.type_fanout.clear();
    train::TrainOptions sampled = exact;
    sampled.eval = "sampled";
    const Trained a = train_alone(data(), exact);
    const Trained b = train_alone(data(), sampled);
    EXPECT_EQ(a.result.digest, b.result.digest);
    EXPECT_NE(a.result.digest, fans.result.digest);
    for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
        EXPECT_EQ(a.result.epochs[e].scores.valid.correct, b.result.epochs[e].scores.valid.correct);
        EXPECT_EQ(a.result.epochs[e].scores.test.correct, b.result.epochs[e].scores.test.correct);
        EXPECT_GT(a.result.epochs[e].scores.test.answers, 0U);
    }
}

TEST_F(TypedTimes, ASavedNetworkScoresTheSame) {
    train::Scores scores;
    const auto saved = trained_network(data(), options(sample::Temporal::uniform), scores);
    for (const int ranks : {1, 2}) {
        comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
        cluster.run([&](const comm::Communicator& comm) {
            const auto result = train::run_inference(comm, data(), saved, {});
            EXPECT_EQ(result.scores.test.correct, scores.test.correct);
            EXPECT_EQ(result.scores.valid.correct, scores.valid.correct);
            EXPECT_GT(result.scores.test.answers, 0U);
        });
    }
}

TEST_F(TypedTimes, TimesAreNeeded) {
    const TempDir folder;
    const partition::PartitionedDataset plain = make_typed_parts(folder.path(), 200);
    const Refusal refusal = refusal_of(
        [&] { static_cast<void>(train_alone(plain, options(sample::Temporal::newest))); });
    EXPECT_EQ(refusal.kind, ErrorKind::input);
    EXPECT_EQ(refusal.problem, "its edges have no times");
}

}  // namespace
}  // namespace rudder::test
