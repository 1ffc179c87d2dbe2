#include <array>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "launcher.hpp"
#include "mpi_progress.hpp"
#include "mpi_transport.hpp"

namespace {

bool mpi_in_use = false;

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
/// Open MPI leaves memory behind, partly from libraries it has unloaded: processes that used it are
/// not checked for leaks.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() {
    return mpi_in_use ? 1 : 0;
}
#endif

namespace rudder::comm {

void check_mpi(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    throw Error(ErrorKind::rank, fmt::format("{} failed: {}", call, text.data()), "MPI",
                "look at the first rank that failed; 'rudder doctor --ranks N' tests the set-up");
}

void require_mpi() {}

MpiSession::MpiSession() {
    mpi_in_use = true;
    int provided = MPI_THREAD_SINGLE;
    // Calls are made under one lock, by whichever thread makes progress.
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init");
    if (provided < MPI_THREAD_SERIALIZED) {
        throw Error(ErrorKind::failed, "this MPI does not allow calls from several threads", "MPI",
                    "use a build of MPI with thread support");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

MpiSession::~MpiSession() {
    MPI_Finalize();
}

std::string MpiSession::library() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string whole(text.data());
    return whole.substr(0, whole.find_first_of(",\n"));
}

}  // namespace rudder::comm
