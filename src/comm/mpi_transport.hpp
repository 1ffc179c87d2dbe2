// The MPI body of the communicator. This header is free of mpi.h.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "rudder/comm/transport.hpp"

#include "link_model.hpp"

namespace rudder::comm {

/// MPI for as long as it lives: initialised by its constructor, finalised by its destructor (which
/// therefore waits for all ranks). There is one per process.
class MpiSession {
public:
    MpiSession();
    ~MpiSession();
    MpiSession(MpiSession&&) = delete;

    /// Whether a launcher (mpirun, srun) has started this process as a rank.
    [[nodiscard]] static bool launched();
    /// The library's own name and version.
    [[nodiscard]] static std::string library();
};

/// How ranks are grouped and what lies between them.
struct MpiOptions {
    int ranks_per_host = 0;         ///< 0: those that share memory (1 where there is a link)
    std::optional<LinkModel> link;  ///< between hosts, on top of the real network
    std::vector<LinkChange> link_changes{};  ///< of it
    /// Longer messages are cut, since MPI counts in 31 bits.
    std::size_t piece_bytes = std::size_t{1} << 30;
    /// The address of an MPI_Comm of someone else's, which is duplicated and left alone; null: all
    /// ranks. For that MPI must be running, and take calls from several threads at once.
    const void* given = nullptr;
};

/// The transport over all ranks of MPI, or of the communicator that is given; collective. Whoever
/// waits makes progress; while nobody does, a thread of its own looks in from time to time.
[[nodiscard]] std::shared_ptr<Transport> make_mpi_transport(const MpiOptions& options);

}  // namespace rudder::comm
