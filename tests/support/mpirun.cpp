#include "support/mpirun.hpp"

#include <cstdlib>

#include <unistd.h>

namespace rudder::test {

std::string no_mpirun() {
    if (RUDDER_HAVE_MPI == 0) return "this build has no MPI (RUDDER_MPI=OFF)";
    if (!have_program("mpirun")) return "mpirun is not installed; make setup installs it";
    if (run({"mpirun", "--version"}).out.find("Open MPI") == std::string::npos) {
        return "mpirun is not that of Open MPI";
    }
    return {};
}

std::vector<std::string> mpirun_command(const std::vector<RankGroup>& groups,
                                        const MpirunOptions& options) {
    std::vector<std::string> words{
        "mpirun", "--oversubscribe", "--bind-to",
        "none",   "--timeout",       std::to_string((sanitizer_factor * options.limit).count())};
    if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
    std::vector<std::string> settings{"pml=ob1", "mpi_yield_when_idle=1", "oob_tcp_if_include=lo"};
    settings.insert(settings.end(), options.settings.begin(), options.settings.end());
    for (const std::string& setting : settings) {
        const std::size_t equals = setting.find('=');
        words.insert(words.end(), {"--mca", setting.substr(0, equals), setting.substr(equals + 1)});
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (i > 0) words.emplace_back(":");
        words.insert(words.end(), {"-n", std::to_string(groups[i].ranks)});
        words.insert(words.end(), groups[i].command.begin(), groups[i].command.end());
    }
    return words;
}

Outcome mpirun(const std::vector<RankGroup>& groups, const MpirunOptions& options) {
    RunOptions how;
    how.limit = options.limit + std::chrono::seconds(10);  // mpirun's own limit comes first
#if defined(__SANITIZE_ADDRESS__)
    // Open MPI itself leaks; leaks of ours are looked for in the other bodies.
    const char* given = std::getenv("ASAN_OPTIONS");
    how.extra.push_back("ASAN_OPTIONS=" + std::string(given == nullptr ? "" : given) +
                        ":detect_leaks=0");
#endif
    return run(mpirun_command(groups, options), how);
}

}  // namespace rudder::test
