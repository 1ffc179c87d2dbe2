// The ranks that this process is one of, for all loaders it makes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rudder/comm/communicator.hpp"

namespace rudder::python {

/// One job per process: of torchrun, or of whoever sets its variables; alone without them. The
/// others are met when it is first asked for.
class Job {
public:
    /// Collective the first time. A launcher that the package does not know is a usage Error.
    [[nodiscard]] static Job& get();
    /// The one that was met, if any.
    [[nodiscard]] static Job* met() noexcept;

    /// The ranks are those of an MPI that runs already: at `communicator` lies an MPI_Comm, which
    /// is duplicated when they are met. `library` is the version of that MPI, which must be this
    /// build's. A usage Error where the ranks have been met.
    static void use_mpi(std::uintptr_t communicator, const std::string& library);

    [[nodiscard]] int rank() const noexcept;
    [[nodiscard]] int size() const noexcept;
    /// A communicator for one more loader; on all ranks in the same order. More than there are
    /// lines for are a usage Error.
    [[nodiscard]] comm::Communicator line();

    /// Tells the other ranks why this one ends; they end with the same words.
    void fail(const std::string& reason);
    /// Collective: ends it with all ranks.
    void finish();

private:
    Job();
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace rudder::python
