// Predictions in original ids, checked by another program and by our own reader.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/safetensors.hpp"
#include "graph/io/export.hpp"
#include "graph/io/npz.hpp"
#include "partition/partition_export.hpp"
#include "rudder/core/error.hpp"
#include "train/exact_bed.hpp"

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

/// A Python with NumPy: the project's own or the system's; empty where there is none.
std::string python() {
    const std::filesystem::path own =
        std::filesystem::path(RUDDER_SOURCE_DIR) / ".venv/bin/python3";
    for (const std::string& each : {own.string(), std::string("python3")}) {
        if (each == own && !std::filesystem::exists(own)) continue;
        if (each != own && !have_program(each)) continue;
        if (run({each, "-c", "import numpy"}).code == 0) return each;
    }
    return {};
}

class Predictions : public testing::Test {
protected:
    void predict(const partition::PartitionedDataset& data, const train::SavedNetwork& saved,
                 int ranks, const std::string& name, bool embeddings = true) {
        comm::SimulatedCluster machines({.ranks = ranks});
        machines.run([&](const comm::Communicator& comm) {
            static_cast<void>(train::write_predictions(
                comm, data, saved, {.output = folder_ / name, .embeddings = embeddings}));
        });
    }
    static std::string bytes_of(const std::filesystem::path& file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    TempDir folder_;
};

TEST_F(Predictions, AreInOriginalIds) {
    const auto data = make_parts(folder_.path(), {.vertices = 900});
    const train::SavedNetwork saved = random_network(data, 2, 8);
    predict(data, saved, 4, "out.npz");
    const AllRows rows = infer_alone(data, saved);
    const graph::NpzArchive archive(folder_ / "out.npz");
    EXPECT_EQ(archive.names(), (std::vector<std::string>{"class", "embedding", "scores"}));
    graph::NpyReader scores_reader = archive.open("scores");
    graph::NpyReader hidden_reader = archive.open("embedding");
    graph::NpyReader class_reader = archive.open("class");
    const auto scores = graph::read_floats(scores_reader);
    const auto hidden = graph::read_floats(hidden_reader);
    const auto classes = graph::read_integers(class_reader);
    ASSERT_EQ(scores.size(), 900U * 4);
    ASSERT_EQ(hidden.size(), 900U * 8);
    const partition::OriginalOrder order(data);
    for (VertexId original = 0; original < 900; ++original) {
        const VertexId v = order.renumbered()[original];
        const float* row = rows.scores.data() + v * 4;
        for (std::size_t c = 0; c < 4; ++c)
            ASSERT_EQ(scores[original * 4 + c], row[c]);
        for (std::size_t c = 0; c < 8; ++c)
            ASSERT_EQ(hidden[original * 8 + c], rows.hidden[v * 8 + c]);
        ASSERT_EQ(classes[original], std::max_element(row, row + 4) - row);
    }
}

TEST_F(Predictions, TheSameBytesFromAnyNumberOfRanks) {
    const auto data = make_parts(folder_.path(), {.vertices = 900});
    const train::SavedNetwork saved = random_network(data, 2, 8);
    for (const int ranks : {1, 2, 4}) {
        const std::string name = "out-" + std::to_string(ranks) + ".npz";
        predict(data, saved, ranks, name, false);
        EXPECT_EQ(bytes_of(folder_ / name), bytes_of(folder_ / "out-1.npz"));
    }
    EXPECT_EQ(graph::NpzArchive(folder_ / "out-1.npz").names(),
              (std::vector<std::string>{"class", "scores"}));
}

TEST_F(Predictions, ANumPyScriptFindsTheSame) {
    const std::string program = python();
    if (program.empty()) GTEST_SKIP() << "no Python with NumPy here";
    for (const auto& [kind, name] : {std::pair{graph::TargetKind::classes, "classes"},
                                     std::pair{graph::TargetKind::multilabel, "multilabel"},
                                     std::pair{graph::TargetKind::regression, "regression"}}) {
        const auto data = make_parts(folder_.path(), {.vertices = 700, .targets = kind});
        const train::SavedNetwork saved = random_network(data, 3, 10);
        predict(data, saved, 2, std::string(name) + ".npz");
        graph::export_npz(partition::PartitionExport(data), folder_ / "graph.npz", true);
        std::vector<TensorToWrite> tensors;
        const auto network = nn::make_network(saved.options);
        for (const nn::Parameter& p : network->parameters()) {
            tensors.push_back(
                {p.name, p.shape, std::span(saved.weights).subspan(p.offset, p.size)});
        }
        write_safetensors(folder_ / "weights.safetensors", tensors, {});
        const auto script =
            std::filesystem::path(RUDDER_SOURCE_DIR) / "tests/train/check_predictions.py";
        const Outcome outcome = run({program, script.string(), (folder_ / "graph.npz").string(),
                                     (folder_ / "weights.safetensors").string(),
                                     (folder_ / (std::string(name) + ".npz")).string(), name});
        EXPECT_EQ(outcome.code, 0) << name << outcome.err;
        EXPECT_EQ(outcome.out, "ok\n");
    }
}

TEST_F(Predictions, WhatCannotBeWrittenIsRefusedByAllRanks) {
    const auto data = make_parts(folder_.path(), {.parts = 2});
    EXPECT_THROW(predict(data, random_network(data, 1, 8), 2, "out.npz"), Error);
    const train::SavedNetwork saved = random_network(data, 2, 8);
    std::ofstream(folder_ / "file") << "no folder";
    EXPECT_THROW(predict(data, saved, 2, "file/out.npz"), Error);
    predict(data, saved, 2, "out.npz");
    const std::string before = bytes_of(folder_ / "out.npz");
    EXPECT_THROW(predict(data, saved, 2, "out.npz"), Error);
    EXPECT_EQ(bytes_of(folder_ / "out.npz"), before);
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
        EXPECT_NE(entry.path().filename().string().front(), '.') << entry.path();
}

}  // namespace
}  // namespace rudder::test
