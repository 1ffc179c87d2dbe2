// The MPI body in a build without MPI: says so.
#include "rudder/core/error.hpp"

#include "launcher.hpp"
#include "mpi_transport.hpp"

namespace rudder::comm {

void require_mpi() {
    throw usage_error("this build has no MPI", "RUDDER_MPI=OFF",
                      "start ranks with --ranks or torchrun, whose messages go over sockets, or "
                      "build with -DRUDDER_MPI=ON");
}

MpiSession::MpiSession() {
    require_mpi();
}

MpiSession::~MpiSession() = default;

std::string MpiSession::library() {
    return "no MPI";
}

std::shared_ptr<Transport> make_mpi_transport(const MpiOptions& /*options*/) {
    require_mpi();
    return nullptr;
}

}  // namespace rudder::comm
