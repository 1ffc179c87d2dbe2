// What data sets are, in tables for people.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/core/spec.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/partition/summary.hpp"

namespace rudder::cli {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

[[nodiscard]] KeyValues dataset_lines(const graph::DatasetInfo& info);

[[nodiscard]] KeyValues partition_lines(const graph::DatasetInfo& info,
                                        const partition::PartitionSummary& summary);

/// Adds a line for each parameter: its help, with its default.
void add_parameters(KeyValues& lines, std::span<const SpecParameter> parameters);

/// "  name   sentence", wrapped for a screen; the sentence stands in columns from `indent` on.
[[nodiscard]] std::string wrapped_entry(std::string_view name, const std::string& sentence,
                                        std::size_t indent);

/// The replacement policies, each with its sentence and paper, wrapped for a screen.
[[nodiscard]] std::string policy_notes();

/// Prints one JSON value, indented, on standard output.
void print_json(const Json& value);
void print_text(const std::string& text);

}  // namespace rudder::cli
