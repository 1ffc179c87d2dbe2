// DGL's binary files (.dgl): tensors by name, and graphs. Read without DGL, with suspicion.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "rudder/core/array.hpp"

#include "npy.hpp"

namespace rudder::graph {

/// A tensor as it lies in a file, which must outlive it.
struct DglTensor {
    NpyHeader header;
    std::span<const std::byte> bytes;
    std::string where;  ///< names file and tensor

    [[nodiscard]] std::uint64_t rows() const {
        return header.shape.empty() ? 0 : header.shape.front();
    }
    /// Of one dimension, with whole numbers; anything else is an input Error.
    [[nodiscard]] std::vector<std::int64_t> integers() const;
};
using DglTensors = std::map<std::string, DglTensor, std::less<>>;

/// A graph with one type of vertices and one of edges.
struct DglGraph {
    // In the order of the ids of edges.
    std::vector<std::int64_t> sources;
    std::vector<std::int64_t> destinations;
    DglTensors vertex_tensors;
    DglTensors edge_tensors;
};

/// An opened file, all of it in memory. What is not as DGL writes it is an input Error that names
/// file and byte.
class DglFile {
public:
    explicit DglFile(std::filesystem::path file);

    /// Of a file of `dgl.data.utils.save_tensors`.
    [[nodiscard]] DglTensors tensors() const;
    /// The first graph of a file of `dgl.save_graphs`.
    [[nodiscard]] DglGraph graph() const;

private:
    std::filesystem::path path_;
    Array<std::byte> bytes_;
};

}  // namespace rudder::graph
