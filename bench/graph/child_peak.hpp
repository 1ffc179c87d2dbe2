// Runs work in a process of its own and brings back its peak memory over the size of its graph.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "core/system.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::bench {

/// `make` makes a data set on disk; the result is the child's VmHWM over the bytes of the graph's
/// rows, or -1 if the child failed.
template <class Make>
double peak_of(Make&& make) {
    int ends[2];
    if (::pipe(ends) != 0) return -1;
    const pid_t child = ::fork();
    if (child == 0) {
        const graph::DatasetInfo info = make();
        const double graph =
            8.0 * static_cast<double>(info.vertices + 1) + 4.0 * static_cast<double>(info.edges);
        const double ratio = static_cast<double>(peak_resident_bytes()) / graph;
        ::_exit(::write(ends[1], &ratio, sizeof(ratio)) == sizeof(ratio) ? 0 : 1);
    }
    ::close(ends[1]);
    double ratio = -1;
    if (::read(ends[0], &ratio, sizeof(ratio)) != sizeof(ratio)) ratio = -1;
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return ratio;
}

}  // namespace rudder::bench
