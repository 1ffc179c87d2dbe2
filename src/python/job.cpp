#include "job.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "comm/mpi_transport.hpp"
#include "comm/socket_transport.hpp"
#include "comm/watchdog.hpp"
#include "core/log.hpp"
#include "rudder/comm/handshake.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/core/version.hpp"
#include "rudder/run/ranks.hpp"

namespace rudder::python {

namespace {

/// Loaders of one job that can talk beside each other.
constexpr int most_lines = 15;

std::atomic<Job*> met_job{nullptr};
std::atomic<const void*> given_mpi{nullptr};  ///< an MPI_Comm

/// Refuses ranks of MPI: each would load alone, as rank 0.
void refuse_mpi() {
    const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
    if (size == nullptr) size = std::getenv("PMI_SIZE");
    const auto count = size == nullptr ? std::nullopt : parse_u64(size);
    if (!count || *count < 2) return;
    throw usage_error(
        fmt::format("mpirun started {} processes that do not know of each other", *count), "mpirun",
        "call rudder.use_mpi first, start them with torchrun, or set RANK, WORLD_SIZE, MASTER_ADDR "
        "and MASTER_PORT as it does");
}

/// A number of the environment; `fallback` where it is not set.
int number_of(const char* variable, int fallback) {
    const char* text = std::getenv(variable);
    if (text == nullptr) return fallback;
    const auto number = parse_u64(text);
    if (number && std::in_range<int>(*number)) return static_cast<int>(*number);
    throw usage_error(fmt::format("invalid {}: {}", variable, text), "environment",
                      "give a number, or unset it");
}

std::shared_ptr<comm::Transport> meet_mpi(const void* given) {
    comm::MpiOptions options;
    options.given = given;
    options.ranks_per_host = number_of("RUDDER_RANKS_PER_HOST", 0);
    if (const char* link = std::getenv("RUDDER_LINK")) {
        comm::LinkSchedule schedule = comm::parse_link_schedule(link);
        options.link = schedule.first;
        options.link_changes = std::move(schedule.changes);
    }
    std::shared_ptr<comm::Transport> transport = comm::make_mpi_transport(options);
    log::set_rank(transport->rank());
    return transport->size() == 1 ? nullptr : transport;
}

std::shared_ptr<comm::Transport> meet_others() {
    if (const void* given = given_mpi) return meet_mpi(given);
    if (!comm::sockets_launched()) {
        refuse_mpi();
        return nullptr;
    }
    comm::SocketJob job = comm::socket_job();
    if (job.size == 1) return nullptr;
    log::set_rank(job.rank);
    comm::SocketOptions options{.job = std::move(job), .link = std::nullopt};
    // To see on one machine what several would do.
    options.ranks_per_host = number_of("RUDDER_RANKS_PER_HOST", 0);  // 0: those that share memory
    constexpr int most_patience = 60;
    options.patience = std::chrono::seconds(number_of("RUDDER_PATIENCE", most_patience));
    if (const char* link = std::getenv("RUDDER_LINK")) {
        comm::LinkSchedule schedule = comm::parse_link_schedule(link);
        options.link = schedule.first;
        options.link_changes = std::move(schedule.changes);
    }
    return comm::make_socket_transport(options);
}

/// How a rank ends beside its working threads.
[[noreturn]] void end_process(comm::Watchdog* watchdog, int rank, const std::exception_ptr& why) {
    std::string text = "failed";
    int code = static_cast<int>(ErrorKind::failed);
    try {
        std::rethrow_exception(why);
    } catch (const Error& error) {
        text = error.what();
        code = error.exit_code();
    } catch (const std::exception& error) {
        text = error.what();
    }
    if (watchdog != nullptr) watchdog->announce_failure(code, text);
    log::last_error(fmt::format("rank {}: {}", rank, text));
    std::fflush(nullptr);
    ::_exit(code);
}

}  // namespace

struct Job::State {
    std::optional<comm::Communicator> all;  ///< none: this rank is alone, or the job has ended
    int rank = 0;
    int size = 1;
    std::unique_ptr<comm::Watchdog> watchdog;
    int lines = 0;
};

Job::Job() : state_(std::make_shared<State>()) {
    std::shared_ptr<comm::Transport> transport = meet_others();
    if (transport == nullptr) return;
    comm::Communicator& all = state_->all.emplace(std::move(transport));
    state_->rank = all.rank();
    state_->size = all.size();
    comm::verify_same(all, {{"version", std::string(version())}});
    // Users compute, evaluate and write for as long as they like between two steps.
    constexpr auto never_stuck = std::chrono::hours(24 * 365);
    state_->watchdog =
        std::make_unique<comm::Watchdog>(all, comm::WatchdogOptions{.stuck_after = never_stuck});
    all.transport().set_failure_handler([state = state_.get()](const std::exception_ptr& why) {
        end_process(state->watchdog.get(), state->rank, why);
    });
    run::share_cores(all, 0);
}

Job& Job::get() {
    static std::mutex mutex;
    const std::scoped_lock lock(mutex);
    if (Job* job = met()) return *job;
    Job* const job = new Job;  // threads may outlive everything else
    met_job = job;
    return *job;
}

Job* Job::met() noexcept {
    return met_job;
}

void Job::use_mpi(std::uintptr_t communicator, const std::string& library) {
    constexpr const char* where = "use_mpi";
    if (met() != nullptr) {
        throw usage_error("the ranks have met already", where,
                          "call it before the first loader, store or run");
    }
    const std::string own = comm::MpiSession::library();
    if (!library.starts_with(own)) {
        throw usage_error(fmt::format("mpi4py has {}, and this build {}",
                                      library.substr(0, library.find_first_of(",\n")), own),
                          where, "build Rudder with that MPI, or start the ranks with torchrun");
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr): Python has addresses as numbers.
    given_mpi = reinterpret_cast<const void*>(communicator);
}

int Job::rank() const noexcept {
    return state_->rank;
}

int Job::size() const noexcept {
    return state_->size;
}

comm::Communicator Job::line() {
    if (!state_->all) return comm::Communicator::local();
    if (++state_->lines > most_lines) {
        throw usage_error(fmt::format("more than {} loaders on {} ranks", most_lines, size()),
                          "NeighborLoader",
                          "make each loader once, and iterate over it once per epoch");
    }
    return state_->all->duplicate();
}

void Job::fail(const std::string& reason) {
    if (state_->watchdog != nullptr)
        state_->watchdog->announce_failure(static_cast<int>(ErrorKind::failed), reason);
}

void Job::finish() {
    if (!state_->all) return;
    state_->all->barrier();
    state_->watchdog.reset();
    state_->all.reset();
}

}  // namespace rudder::python
