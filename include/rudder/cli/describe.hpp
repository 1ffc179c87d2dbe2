// What data sets are, in JSON for programs and in tables for people.
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

/// The keys of design section 10 for a data set.
[[nodiscard]] Json dataset_json(const DatasetInfo& info);
/// The same for people.
[[nodiscard]] KeyValues dataset_lines(const DatasetInfo& info);

/// The keys of design section 10 for a partitioned one: those of its data set, and its figures.
[[nodiscard]] Json partition_json(const DatasetInfo& info, const PartitionSummary& summary);
[[nodiscard]] KeyValues partition_lines(const DatasetInfo& info, const PartitionSummary& summary);

/// The replacement policies, each with its sentence and paper, wrapped for a screen.
[[nodiscard]] std::string policy_notes();

/// Prints one JSON value, indented, on standard output.
void print_json(const Json& value);
void print_text(const std::string& text);

}  // namespace rudder::cli
