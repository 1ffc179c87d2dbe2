// Turns MPI's return codes into errors that name the call.
#pragma once

#include <mpi.h>

namespace rudder::comm {

/// Throws an Error of kind `rank` naming `call` unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

}  // namespace rudder::comm
