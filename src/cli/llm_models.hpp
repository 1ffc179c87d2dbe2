// Several language models in one call.
#pragma once

#include <string>
#include <vector>

namespace rudder::cli {

/// The agents with each `llm` that names no model once for every model of --llm-model. Models
/// without any such agent are an `llm` each.
[[nodiscard]] std::vector<std::string> with_models(const std::vector<std::string>& agents,
                                                   const std::vector<std::string>& models);

}  // namespace rudder::cli
