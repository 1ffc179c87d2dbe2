// The partitioned graph a sampling benchmark runs on, made once and removed at the end.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "rudder/partition/options.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

namespace rudder::bench {

/// A graph of ../shared/data in METIS parts; a generated one where that is absent.
class Bed {
public:
    Bed(const std::string& name, PartId parts, VertexId cluster_size = 256);
    /// A generated graph of classes, 52 stored edges per vertex, in one part.
    explicit Bed(VertexId vertices);
    ~Bed();
    Bed(const Bed&) = delete;
    Bed& operator=(const Bed&) = delete;

    [[nodiscard]] const partition::PartitionedDataset& data() const { return *data_; }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    void generate(VertexId vertices, VertexId classes, double degree);
    void partition(const partition::PartitionOptions& options);

    std::filesystem::path folder_;
    std::string name_;
    std::unique_ptr<partition::PartitionedDataset> data_;
};

}  // namespace rudder::bench
