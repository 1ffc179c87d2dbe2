// Asks a trained network about graphs in memory: one that a data set holds, and one made here.
//
//   ask_model RUN DATASET
#include <chrono>
#include <cstdio>
#include <vector>

#include "rudder/core/error.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/train/infer.hpp"

int main(int argc, char** argv) try {
    if (argc != 3) {
        std::fputs("usage: ask_model RUN DATASET\n", stderr);
        return 2;
    }
    const rudder::Model model = rudder::Model::open(argv[1]);
    const rudder::graph::Dataset data(argv[2]);  // any arrays in memory would do

    rudder::Answers answers;  // asked again with the same, it keeps its memory
    model.infer(data.topology(), data.features(), answers);
    const auto start = std::chrono::steady_clock::now();
    model.infer(data.topology(), data.features(), answers);
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - start;
    std::printf("%zu vertices in %.2f ms\n", static_cast<std::size_t>(answers.vertices()),
                taken.count());

    const auto labels = data.targets().classes;
    std::size_t right = 0;
    for (std::size_t v = 0; v < labels.size(); ++v)
        right += static_cast<int>(answers.best(v)) == labels[v] ? 1U : 0U;
    if (!labels.empty()) std::printf("%zu of %zu are right\n", right, labels.size());

    // Three vertices that no file holds, with rows of plain floats: 0 and 2 read from 1, 1 from
    // both.
    const std::vector<rudder::graph::Edge> edges{{0, 1}, {1, 2}};
    const std::vector<float> rows(3 * model.network().inputs, 0.5F);
    const rudder::Answers three = rudder::infer(model, edges, model.rows(rows));
    for (std::size_t v = 0; v < 3; ++v)
        std::printf("vertex %zu: output %zu\n", v, three.best(v));
    return 0;
} catch (const rudder::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
}
