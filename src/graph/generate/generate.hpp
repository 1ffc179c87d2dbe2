// Generating a whole data set: edges, rows, and where the kind has them features and labels.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/staging.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/provenance.hpp"
#include "rudder/graph/split.hpp"

#include "generator.hpp"

namespace rudder::graph {

/// What to generate and where: a kind of generator, or the stand-in "like:NAME" (stand_ins.hpp).
struct GenerateOptions {
    std::string kind;
    std::filesystem::path output;
    Existing existing = Existing::refuse;
    GeneratorOptions generator;
    /// planted:W (kinds with labels), random:W, structure:W or none; empty: planted:64 where there
    /// are labels, else none.
    std::string features;
    double signal = 0.25;  ///< how much of the class planted ones carry, against noise of 1
    std::optional<SplitRule> split{};  ///< none: as the stand-in is published, or 60/20/20
    double scale = 1;                  ///< of a stand-in: the share of the published size
    Provenance provenance;
};

/// Generates and writes the data set; the same for the same options on any number of threads.
DatasetInfo generate_dataset(const GenerateOptions& options, Progress& progress);

/// The edges of a generator as rows: drawn once into memory, then placed.
[[nodiscard]] BuiltTopology generate_topology(const Generator& generator, Progress& progress);

}  // namespace rudder::graph
