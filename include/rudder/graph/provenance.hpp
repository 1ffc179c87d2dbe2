// How an output was made: kept in its manifest and beside it.
#pragma once

#include <filesystem>
#include <string>

#include "rudder/core/file.hpp"
#include "rudder/core/json.hpp"

namespace rudder {

/// The command that makes an output. Empty where a program makes it without one.
struct Provenance {
    Json made_by;        ///< verb and options, for the manifest
    std::string config;  ///< the options as TOML, written as config.toml: --config reads it back

    void write_config(const std::filesystem::path& folder) const {
        if (!config.empty()) write_text(folder / "config.toml", config);
    }
};

}  // namespace rudder
