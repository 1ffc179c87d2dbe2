#include "rudder/cli/common_options.hpp"

namespace rudder::cli {

void CommonOptions::define(CLI::App& app) {
    app.add_flag("--json", json, "Print one JSON value on standard output");
    app.add_flag("--quiet", quiet, "No progress and no messages but errors");
    app.add_option("--config", config, "Read options from a TOML file; those typed win")
        ->type_name("FILE");
    app.add_option("--threads", threads, "Threads to use; 0 takes all cores")
        ->check(CLI::Range(0, 4096).description(""))
        ->capture_default_str();
}

}  // namespace rudder::cli
