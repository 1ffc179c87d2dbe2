// Inference on a graph in memory: 1,000 vertices, 10,000 edges (stored both ways), rows of 128
// floats, GraphSAGE of 2 layers with 256 hidden columns and 16 classes.
//
//   bench_train_infer [FOLDER [ROUNDS]]
//
// FOLDER (default: a new one in the current folder, removed at the end) is for the checkpoint. The
// figure is the median of the calls on rows of neighbours; that of edges in any order, which are
// sorted first, and those on one thread are printed, too.
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "comm/figures.hpp"
#include "nn/timing.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"
#include "rudder/train/infer.hpp"
#include "train/checkpoints/checkpoint.hpp"

namespace {

using namespace rudder;
namespace fs = std::filesystem;

constexpr VertexId bench_vertices = 1'000;
constexpr std::size_t bench_edges = 10'000;

/// A network with the weights it begins with, as a run leaves it.
Model bench_model(const fs::path& folder) {
    train::Checkpoint c;
    c.identity.network = {.inputs = 128, .hidden = 256, .outputs = 16, .layers = 2};
    const auto network = nn::make_network(c.identity.network);
    c.parameters.assign(network->parameters().begin(), network->parameters().end());
    c.weights.assign(network->weights().begin(), network->weights().end());
    return Model::open(train::write_checkpoint(folder, c));
}

void measure_infer(const Model& model, int rounds) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 1}), 0);
    std::vector<graph::Edge> edges(bench_edges);
    for (graph::Edge& edge : edges)
        edge = {draws.below(bench_vertices), draws.below(bench_vertices)};
    std::vector<float> values(bench_vertices * model.network().inputs);
    for (float& value : values)
        value = static_cast<float>(draws.normal());
    const graph::FeatureView rows = model.rows(values);
    const graph::BuiltTopology built =
        graph::build_topology(graph::EdgeSpan(bench_vertices, edges), {});
    const graph::TopologyView graph = built.topology.view();
    Answers answers;
    const bench::Side of_rows{"rows of neighbours", [&] { model.infer(graph, rows, answers); }};
    std::vector<bench::Side> many{of_rows, {"edges", [&] { answers = infer(model, edges, rows); }}};
    bench::measure(many, rounds);
    const int threads = thread_count();
    set_thread_count(1);
    std::vector<bench::Side> one{of_rows};
    bench::measure(one, rounds);
    set_thread_count(0);
    bench::report(
        "inference on 1,000 vertices in memory", many[0].milliseconds, "ms", "< 5",
        many[0].milliseconds < 5,
        fmt::format("median of {}, {} stored edges, {} threads", rounds, graph.edges(), threads));
    fmt::print("from edges in any order: {:.2f} ms; on one thread: {:.2f} ms\n",
               many[1].milliseconds, one[0].milliseconds);
}

}  // namespace

int main(int argc, char** argv) {
    const bool own = argc < 2;
    const fs::path folder =
        own ? fs::path(fmt::format("bench-infer-{}", ::getpid())) : fs::path(argv[1]);
    fs::create_directories(folder);
    measure_infer(bench_model(folder), argc > 2 ? std::stoi(argv[2]) : 201);
    if (own) fs::remove_all(folder);
    return 0;
}
