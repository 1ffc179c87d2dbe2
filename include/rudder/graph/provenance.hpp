// How an output was made: kept in its manifest and beside it.
#pragma once

#include <filesystem>
#include <string>

#include "rudder/core/file.hpp"
#include "rudder/core/json_fwd.hpp"

namespace rudder::graph {

/// The command that makes an output. Empty where a program makes it without one.
struct Provenance {
    std::string made_by;  ///< verb and options as JSON text, for the manifest
    std::string config;   ///< the options as TOML, written as config.toml: --config reads it back

    void write_config(const std::filesystem::path& folder) const {
        if (!config.empty()) write_text(folder / "config.toml", config);
    }
};

/// The command as a JSON value; null where there is none.
[[nodiscard]] Json made_by_json(const Provenance& provenance);

}  // namespace rudder::graph
