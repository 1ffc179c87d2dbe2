#include "common_options.hpp"

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

void define_ranks(run::RankOptions& o, CLI::App& app) {
    CLI::Range some(1, 4096);
    some.description("");
    CLI::Range seconds(0.1, 1e7);
    seconds.description("");
    app.add_option("--ranks", o.ranks, "Start so many ranks on this machine")
        ->check(some)
        ->type_name("N");
    app.add_option("--ranks-per-host", o.ranks_per_host, "Ranks that count as one host")
        ->check(some)
        ->type_name("N");
    app.add_option("--link", o.link, "Delay and rate between hosts, such as 100us,1gbit")
        ->type_name("DELAY,RATE");
    app.add_flag("--paranoid", o.paranoid, "Compare what all ranks do before each collective");
    app.add_option("--stuck-after", o.stuck_after, "Without advance for this long the job ends")
        ->check(seconds)
        ->capture_default_str()
        ->type_name("SECONDS");
}

}  // namespace rudder::cli
