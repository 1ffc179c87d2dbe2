// What data sets are, in tables for people.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/partition/summary.hpp"

namespace rudder::cli {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] KeyValues dataset_lines(const graph::DatasetInfo& info);

[[nodiscard]] KeyValues partition_lines(const graph::DatasetInfo& info,
                                        const partition::PartitionSummary& summary);

/// The replacement policies, each with its sentence and paper, wrapped for a screen.
[[nodiscard]] std::string policy_notes();

/// Prints one JSON value, indented, on standard output.
void print_json(const Json& value);
void print_text(const std::string& text);

}  // namespace rudder::cli
