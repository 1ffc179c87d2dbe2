#include "bed.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "graph/generate/generate.hpp"
#include "graph/io/import.hpp"
#include "partition/partition.hpp"

namespace rudder::bench {

namespace fs = std::filesystem;

Bed::Bed(const std::string& name, PartId parts, VertexId cluster_size)
    : folder_(fs::temp_directory_path() / fmt::format("rudder-bench-{}-{}", name, ::getpid())),
      name_(name) {
    const fs::path real = fs::path(RUDDER_SOURCE_DIR) / "../shared/data" / (name + ".npz");
    fs::create_directories(folder_);
    if (fs::exists(real)) {
        graph::ImportOptions options;
        options.input = real;
        options.output = folder_ / "data";
        graph::import_dataset(options);
    } else {
        fmt::print(stderr, "no {}: a generated graph takes its place\n", real.string());
        graph::GenerateOptions options;
        options.kind = "sbm";
        options.output = folder_ / "data";
        options.generator.vertices = 300'000;
        options.generator.classes = 40;
        graph::generate_dataset(options, Progress::none());
        name_ = "sbm (generated)";
    }
    partition::PartitionOptions partition;
    partition.parts = parts;
    partition.cluster_size = cluster_size;
    partition::partition_dataset(graph::Dataset(folder_ / "data"), folder_ / "parts", partition,
                                 Existing::refuse);
    data_ = std::make_unique<partition::PartitionedDataset>(folder_ / "parts");
}

Bed::~Bed() {
    data_.reset();
    std::error_code code;
    fs::remove_all(folder_, code);
}

}  // namespace rudder::bench
