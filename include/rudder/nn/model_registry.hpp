// Models of one's own, known by name like those of the program.
#pragma once

#include <memory>
#include <string_view>

#include "rudder/nn/network.hpp"

namespace rudder::nn {

/// A model that `train` knows.
struct ModelInfo {
    std::string_view name;  ///< of --model
    /// The options have been checked. Null: it is of graphs of several types alone.
    std::unique_ptr<Network> (*make)(const NetworkOptions&);
    bool degrees = false;  ///< its batches carry degrees: what wants_degrees() says
    /// It reads sparse rows where NetworkOptions::sparse is set; without it the rows of a sparse
    /// data set still travel and are kept sparse, and it gets dense ones.
    bool sparse = false;
    /// It gives gradients of its input rows where NetworkOptions::row_gradients is set; without it
    /// rows cannot be learned (`--embeddings`).
    bool row_gradients = false;
    bool shares = false;  ///< it reads Block::shares: means may be weighted
    /// Makes it for a graph of several types (NetworkOptions::types); null: it does not know any.
    std::unique_ptr<Network> (*make_typed)(const NetworkOptions&) = nullptr;
    bool edges = false;  ///< it reads Block::features: NetworkOptions::edge_inputs may be set
};

/// Makes a model known: from then on `--model` and checkpoints find it by its name. To be called
/// before anything else runs, as in the first lines of main, and on every rank; not safe from
/// several threads. The name must live as long as the program. One that is taken is an
/// InternalError.
void register_model(const ModelInfo& model);

}  // namespace rudder::nn
