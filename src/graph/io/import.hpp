// From a file of any known format to a data set in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "graph/tables/edge_table.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/provenance.hpp"
#include "rudder/graph/split.hpp"

namespace rudder::graph {

/// What `import` is asked to do; the defaults are the command's.
struct ImportOptions {
    std::filesystem::path input{};
    std::filesystem::path output{};
    std::filesystem::path edge_table{};             ///< with one, `input` is the table of vertices
    UnknownIds unknown = UnknownIds::refuse;        ///< of tables
    MissingValues missing = MissingValues::refuse;  ///< of tables, where a schema does not say
    std::uint64_t memory =
        0;  ///< of tables: bytes before they go to disk; 0: a quarter of what is free
    std::string format = "auto";  ///< or a name of `graph_formats`
    bool directed = false;        ///< else every edge is stored both ways
    bool keep_self_loops = false;
    bool keep_duplicates = false;
    std::optional<VertexId> vertices{};  ///< else from the file, or the largest id
    int id_bits = 32;                    ///< of raw binary pairs: 32 or 64
    std::string features{};              ///< FILE.npy, random:W, structure:W; empty: the file's
    std::optional<ElementType> feature_type{};  ///< else as they come
    bool row_normalise = false;                 ///< recorded; applied when a batch is assembled
    std::filesystem::path labels{};             ///< FILE.npy; empty: the file's own
    SplitRule split = SplitFractions{};         ///< used where the file gives none
    std::uint64_t seed = 0;
    bool force = false;  ///< replace an existing output
    Provenance provenance;
};

/// Reads, checks and writes. The output appears whole or not at all. Input at fault is an input
/// Error that names file, array, position and remedy.
DatasetInfo import_dataset(const ImportOptions& options, Progress& progress = Progress::none());

}  // namespace rudder::graph
