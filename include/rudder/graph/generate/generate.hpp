// Generating a whole data set: edges, rows, and where the kind has them features and labels.
#pragma once

#include <filesystem>
#include <string>

#include "rudder/core/json.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/core/staging.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/generate/generator.hpp"
#include "rudder/graph/split.hpp"

namespace rudder {

/// What to generate and where.
struct GenerateOptions {
    std::string kind;
    std::filesystem::path output;
    Existing existing = Existing::refuse;
    GeneratorOptions generator;
    std::uint64_t width = 64;  ///< planted features per vertex (kinds with labels); 0: none
    double signal = 0.25;      ///< how much of the class they carry, against noise of 1
    SplitRule split = SplitFractions{};
    Json made_by;  ///< for the manifest
};

/// Generates and writes the data set; the same for the same options on any number of threads.
DatasetInfo generate_dataset(const GenerateOptions& options, Progress& progress);

/// The edges of a generator as rows: drawn once into memory, then placed.
[[nodiscard]] BuiltTopology generate_topology(const Generator& generator, Progress& progress);

}  // namespace rudder
