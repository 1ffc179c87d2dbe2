#include "common_options.hpp"

#include "bind_options.hpp"

namespace rudder::cli {

void CommonOptions::define(CLI::App& app) {
    app.add_flag("--json", json, "Print one JSON value on standard output");
    app.add_flag("--quiet", quiet, "Print errors only: no progress, no messages");
    app.add_option("--config", config, "Read options from a TOML file; typed ones take precedence")
        ->type_name("FILE");
    limit(app.add_option("--threads", threads, "Number of threads (0 = all cores)"), "threads",
          SettingKind::integer, {0, 4096})
        .capture_default_str();
}

}  // namespace rudder::cli
