// Replays a recorded trace under every policy and prints what each would have fetched.
//
//   replay_trace RUN_OR_TRACE [FRACTION]
#include <cstdio>
#include <cstdlib>

#include "rudder/buffer/replay.hpp"
#include "rudder/core/error.hpp"

int main(int argc, char** argv) try {
    if (argc < 2 || argc > 3) {
        std::fputs("usage: replay_trace RUN_OR_TRACE [FRACTION]\n", stderr);
        return 2;
    }
    const rudder::buffer::BufferSize size{.fraction = argc > 2 ? std::atof(argv[2]) : 0.25};
    const rudder::buffer::Trace trace = rudder::buffer::read_trace(argv[1]);

    // Policies that need what this trace did not record are left out.
    const bool degrees = !trace.front()->facts().halo_degree.empty();
    const bool inclusion = !trace.front()->facts().inclusion.empty();
    std::vector<rudder::buffer::ReplayCase> cases;
    for (const rudder::buffer::PolicyInfo* info : rudder::buffer::all_policies()) {
        if (info->name == "static-vip" && !inclusion) continue;
        if ((info->name == "static-degree" || info->name == "periodic") && !degrees) continue;
        // The policy with its own signal, where it would otherwise wait for an agent's.
        cases.push_back({rudder::buffer::built_in_rule(rudder::buffer::PolicySpec(*info)), size});
    }

    const auto results = rudder::buffer::replay(trace, cases);              // on all threads
    const auto floor = static_cast<double>(results.back().rows.fetched());  // the last is optimal
    std::printf("%-28s %12s %9s %10s\n", "policy", "fetched", "hit rate", "of optimal");
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const rudder::Rows& rows = results[i].rows;
        std::printf("%-28s %12llu %7.1f %% %10.3f\n", cases[i].policy.text().c_str(),
                    static_cast<unsigned long long>(rows.fetched()),
                    100.0 * static_cast<double>(rows.hit) / static_cast<double>(rows.needed),
                    static_cast<double>(rows.fetched()) / floor);
    }
    return 0;
} catch (const rudder::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
}
