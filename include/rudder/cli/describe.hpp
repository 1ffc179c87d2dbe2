// What data sets are, in JSON for programs and in tables for people.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "rudder/core/json.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::cli {

using KeyValues = std::vector<std::pair<std::string, std::string>>;

/// The keys of design section 10 for a data set.
[[nodiscard]] Json dataset_json(const DatasetInfo& info);
/// The same for people.
[[nodiscard]] KeyValues dataset_lines(const DatasetInfo& info);

/// Prints one JSON value, indented, on standard output.
void print_json(const Json& value);
void print_text(const std::string& text);

}  // namespace rudder::cli
