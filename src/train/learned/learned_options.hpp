// What --embeddings says: which vertices have learned rows, and how wide these are.
#pragma once

#include <string>
#include <vector>

#include "rudder/graph/dataset.hpp"
#include "rudder/train/options.hpp"
#include "store/learned_rows.hpp"

namespace rudder::train {

/// "64", or "author=64,venue=16".
struct EmbeddingWidth {
    std::string type;  ///< empty: every type without features
    std::uint64_t width = 0;
};
/// A usage Error for anything else.
[[nodiscard]] std::vector<EmbeddingWidth> parse_embeddings(const std::string& text);

/// Refuses (usage Error) what does not go with learned rows, whatever the data set.
void check_learned(const TrainOptions& options);

/// The widths by type of vertices; empty: nothing is learned. A usage Error for types that are
/// unknown or have features.
[[nodiscard]] store::LearnedWidths learned_widths(const std::string& text,
                                                  const graph::DatasetInfo& info);

}  // namespace rudder::train
