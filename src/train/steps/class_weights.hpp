// Weights of classes against their unequal numbers.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/partition/part.hpp"
#include "sample/links.hpp"

namespace rudder::train {

/// The names that --class-weights takes.
[[nodiscard]] std::vector<std::string_view> class_weight_names();

/// Collective: a weight per class of the data set, from the training vertices of all parts. With K
/// classes that appear, n vertices in all and m of a class: n / (K m), so that the mean weight of a
/// training vertex is 1. A class that never appears has weight 0; it is never asked for.
[[nodiscard]] std::vector<float> balanced_class_weights(const comm::Communicator& comm,
                                                        std::span<const partition::Part> own);

/// What `name` asks for: `balanced` as above, `none` no weights. Balanced weights of targets that
/// are not classes are a usage Error.
[[nodiscard]] std::vector<float> class_weights(std::string_view name,
                                               const comm::Communicator& comm,
                                               std::span<const partition::Part> own,
                                               const graph::DatasetInfo& info);
/// The same of edges that have classes, from those that are trained on.
[[nodiscard]] std::vector<float> edge_class_weights(std::string_view name,
                                                    const comm::Communicator& comm,
                                                    std::span<const partition::Part> own,
                                                    std::span<const sample::PartLinks> edges);

}  // namespace rudder::train
