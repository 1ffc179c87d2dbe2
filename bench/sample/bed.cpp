#include "bed.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "graph/generate/generate.hpp"
#include "graph/io/import.hpp"
#include "partition/partition.hpp"

namespace rudder::bench {

namespace fs = std::filesystem;

namespace {

fs::path bed_folder(const std::string& name) {
    const fs::path folder =
        fs::temp_directory_path() / fmt::format("rudder-bench-{}-{}", name, ::getpid());
    fs::create_directories(folder);
    return folder;
}

}  // namespace

Bed::Bed(const std::string& name, PartId parts, VertexId cluster_size)
    : folder_(bed_folder(name)), name_(name) {
    const fs::path real = fs::path(RUDDER_SOURCE_DIR) / "../shared/data" / (name + ".npz");
    if (fs::exists(real)) {
        graph::ImportOptions options;
        options.input = real;
        options.output = folder_ / "data";
        graph::import_dataset(options);
    } else {
        fmt::print(stderr, "no {}: a generated graph takes its place\n", real.string());
        generate(300'000, 40, graph::GeneratorOptions{}.degree);
        name_ = "sbm (generated)";
    }
    partition::PartitionOptions options;
    options.parts = parts;
    options.cluster_size = cluster_size;
    partition(options);
}

Bed::Bed(VertexId vertices)
    : folder_(bed_folder(fmt::format("sbm-{}", vertices))),
      name_(fmt::format("sbm of {} vertices", vertices)) {
    generate(vertices, 47, 26);
    partition::PartitionOptions options;
    options.method = "random";
    partition(options);
}

void Bed::generate(VertexId vertices, VertexId classes, double degree) {
    graph::GenerateOptions options;
    options.kind = "sbm";
    options.output = folder_ / "data";
    options.generator.vertices = vertices;
    options.generator.classes = classes;
    options.generator.degree = degree;
    options.features = "none";
    graph::generate_dataset(options, Progress::none());
}

void Bed::partition(const partition::PartitionOptions& options) {
    partition::partition_dataset(graph::Dataset(folder_ / "data"), folder_ / "parts", options,
                                 Existing::refuse);
    data_ = std::make_unique<partition::PartitionedDataset>(folder_ / "parts");
}

Bed::~Bed() {
    data_.reset();
    std::error_code code;
    fs::remove_all(folder_, code);
}

}  // namespace rudder::bench
