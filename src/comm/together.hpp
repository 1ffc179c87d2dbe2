// Work that may fail on one rank and that all ranks then give up together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/function_ref.hpp"

namespace rudder::comm {

/// Runs `work` on every rank (collective; `work` itself must not communicate). If it fails with an
/// Error anywhere, every rank throws the Error of the first rank that failed, which it names; so no
/// rank goes on alone and waits for one that is gone.
void do_together(const Communicator& comm, FunctionRef<void()> work);

/// Collective: rank 0's values, everywhere.
template <class T>
void share(const Communicator& comm, std::vector<T>& values, Kind kind = Kind::control) {
    std::uint64_t size = values.size();
    comm.broadcast(0, std::span(&size, 1));
    values.resize(size);
    comm.broadcast(0, std::span(values), kind);
}

}  // namespace rudder::comm
