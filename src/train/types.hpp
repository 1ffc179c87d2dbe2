// Graphs of several types in training: what networks and samplers are told of them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "rudder/graph/dataset.hpp"
#include "rudder/nn/network.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/options.hpp"
#include "sample/message_rows.hpp"
#include "sample/sampler.hpp"

namespace rudder::train {

/// What a network is told of types; none where there is one. A type without features reads the
/// first column, which is zero.
[[nodiscard]] std::optional<nn::TypedInputs> typed_inputs(const graph::DatasetInfo& info);
/// Whether a network made for the first can be used on the second.
[[nodiscard]] bool same_types(const std::optional<nn::TypedInputs>& a,
                              const std::optional<nn::TypedInputs>& b);

/// What sampling is told of types, with the fan-outs of the options; null where there is one type.
/// A usage Error for fan-outs of unknown types, or that do not fit the layers.
[[nodiscard]] std::unique_ptr<sample::TypedSampling> typed_sampling(
    const partition::PartitionedDataset& data, const TrainOptions& options);

/// The same, of all neighbours of every type: what evaluation sees of the past.
[[nodiscard]] std::unique_ptr<sample::TypedSampling> all_neighbours(
    const sample::TypedSampling* types);

/// Which edges are links in a graph of several types.
struct TypedLinks {
    sample::LinkTypes edges;
    std::size_t from = 0;  ///< types of vertices: of sources and targets
    std::size_t to = 0;
    bool symmetric = false;  ///< an edge stands in the rows of both its vertices under one type
};
/// None where vertices or edges are learned, or there is one type. A usage Error for an unknown
/// type, one whose edges go back for another's, or none where there are several.
[[nodiscard]] std::optional<TypedLinks> typed_links(const graph::DatasetInfo& info,
                                                    const TrainOptions& options);

/// Refuses a graph of several types where the model does not know types (an input Error), or with
/// options that do not go with them; and options of types where there is one (usage Errors).
void check_types(const graph::DatasetInfo& info, const TrainOptions& options,
                 const std::string& where);

/// Refuses a graph of several types where rows or edges go to a program that is not told of types:
/// an input Error.
void check_one_type(const graph::DatasetInfo& info, const std::string& where);

}  // namespace rudder::train
