// What a checkpoint keeps of the data set a network was trained on, to hold others against.
#pragma once

#include <string>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/train/options.hpp"

namespace rudder::train {

/// What a network's shape does not say.
struct TrainedOn {
    bool row_normalise = false;  ///< rows were divided by the sum of their magnitudes
    bool symmetric = true;
    std::vector<std::string> class_names;  ///< by output; empty: the data set has none
    friend bool operator==(const TrainedOn&, const TrainedOn&) = default;
};

[[nodiscard]] TrainedOn trained_on(TaskKind task, const graph::DatasetInfo& info);

[[nodiscard]] Json to_json(const TrainedOn& data);
/// The reverse; an input Error naming `where` if something is missing.
[[nodiscard]] TrainedOn trained_on_from_json(const Json& json, const std::string& where);

}  // namespace rudder::train
