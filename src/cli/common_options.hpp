// The options every verb has.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace rudder::cli {

/// Bound to the parser by `define`, which must not outlive it.
struct CommonOptions {
    bool json = false;
    bool quiet = false;
    std::string config;
    int threads = 0;

    void define(CLI::App& app);
};

/// Every option of every verb as a page of Markdown: docs/options.md.
[[nodiscard]] std::string options_page();

}  // namespace rudder::cli
