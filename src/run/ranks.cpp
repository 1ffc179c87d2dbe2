#include "rudder/run/ranks.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "comm/launcher.hpp"
#include "comm/mpi_transport.hpp"
#include "comm/rank_status.hpp"
#include "comm/watchdog.hpp"
#include "core/log.hpp"
#include "core/mapped_files.hpp"
#include "core/system.hpp"
#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"

#include "last_words.hpp"

namespace rudder::run {

void share_cores(const comm::Communicator& comm, int typed_threads) {
    if (typed_threads != 0 || comm.size() == 1) return;
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    const auto all = comm.all_gather(std::span<const char>(name));
    // Ranks that share this machine, whatever counts as a host.
    const auto here = std::ranges::count_if(
        all, [&](const auto& other) { return std::ranges::equal(other, name); });
    set_thread_count(std::max(1, usable_cores() / static_cast<int>(here)));
}

namespace {

constexpr const char* launched_variable = "RUDDER_LAUNCHED";

/// The arguments without --ranks, which only the launcher takes.
std::vector<std::string> rank_arguments(const std::vector<std::string>& arguments) {
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--ranks") {
            ++i;
        } else if (!arguments[i].starts_with("--ranks=")) {
            kept.push_back(arguments[i]);
        }
    }
    return kept;
}

int launch(const RankOptions& options) {
    if (comm::MpiSession::launched()) {
        throw usage_error("--ranks starts ranks, but a launcher has already started this one",
                          "--ranks", "leave --ranks out under mpirun or srun");
    }
    partition::check_ranks(options.ranks, options.parts);
    comm::LaunchOptions launch{.ranks = options.ranks, .command = {}};
    launch.command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
    for (std::string& word : rank_arguments(options.arguments)) {
        launch.command.push_back(std::move(word));
    }
    ::setenv(launched_variable, "1", 1);
    return comm::launch_ranks(launch);
}

/// Whether another rank says what this error says: it was its, and all gave up together.
bool told_by_other(const Error& error, int rank) {
    return error.rank().value_or(rank) != rank;
}

/// Ends a rank that fails: tells the others, says why (unless there is nothing to add), and leaves
/// without waiting for them.
[[noreturn]] void fail_rank(comm::Watchdog* watchdog, int rank, int code,
                            const std::string& problem, const std::string& text) {
    static std::mutex one;  // the first to come says why; nobody comes second
    one.lock();
    if (watchdog != nullptr) watchdog->announce_failure(code, problem);
    if (!text.empty())
        std::fputs(fmt::format("rudder: error: rank {}: {}\n", rank, text).c_str(), stderr);
    std::fflush(nullptr);
    comm::write_rank_status(code, problem);
    ::_exit(code);
}

std::string in_one_line(const Error& error) {
    return error.where().empty() ? error.problem()
                                 : fmt::format("{} ({})", error.problem(), error.where());
}

int error_code(const Error& error, const comm::Watchdog* watchdog) {
    // A SIGTERM that a launcher sends because a peer is gone is not the user's.
    const bool lost = watchdog != nullptr && watchdog->peer_missing();
    if (error.kind() == ErrorKind::interrupted && lost) return static_cast<int>(ErrorKind::rank);
    return error.exit_code();
}

/// The same with an exception. Outside the working thread (`last_words`) the run has not unwound:
/// it is told.
[[noreturn]] void fail_rank(comm::Watchdog* watchdog, int rank, const std::exception_ptr& failure,
                            bool last_words) {
    const auto end = [&](int code, const std::string& problem, const std::string& text) {
        if (last_words) LastWords::speak(problem);
        fail_rank(watchdog, rank, code, problem, text);
    };
    try {
        std::rethrow_exception(failure);
    } catch (const Error& error) {
        end(error_code(error, watchdog), in_one_line(error),
            told_by_other(error, rank) ? "" : error.what());
    } catch (const std::exception& error) {
        end(static_cast<int>(ErrorKind::failed), error.what(), error.what());
    }
    std::terminate();
}

/// Ends a rank that does not find the others: until the watchdog is up nobody else would notice.
class StartGuard {
public:
    explicit StartGuard(double seconds)
        : thread_([this, seconds] { watch(std::chrono::duration<double>(seconds)); }) {}
    ~StartGuard() {
        {
            const std::scoped_lock lock(mutex_);
            started_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

private:
    void watch(std::chrono::duration<double> limit) {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, limit, [this] { return started_; })) return;
        const std::string reason =
            fmt::format("not all ranks have come together within {:.1f} s", limit.count());
        fail_rank(nullptr, comm::launched_rank(), static_cast<int>(ErrorKind::rank), reason,
                  reason + "\n  to do: look for ranks that did not start; raise --stuck-after");
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool started_ = false;
    std::thread thread_;
};

int run_rank(const RankOptions& options, const comm::Fingerprint& fingerprint,
             const RankBody& body) {
    comm::write_rank_pid(comm::launched_rank());
    auto guard = std::make_unique<StartGuard>(options.stuck_after);
    comm::MpiSession session;
    comm::MpiOptions mpi;
    mpi.ranks_per_host = options.ranks_per_host;
    if (!options.link.empty()) mpi.link = comm::parse_link(options.link);
    int rank = 0;
    std::unique_ptr<comm::Watchdog> watchdog;
    try {
        const comm::Communicator comm(comm::make_mpi_transport(mpi));
        rank = comm.rank();
        comm::write_rank_pid(rank);
        comm.set_paranoid(options.paranoid);
        comm::Fingerprint all = fingerprint;
        all.insert(all.begin(), {"build", comm::build_fingerprint()});
        comm::verify_same(comm, all);
        partition::check_ranks(comm.size(), options.parts);
        const auto patience = std::chrono::milliseconds(
            static_cast<std::chrono::milliseconds::rep>(options.stuck_after * 1000));
        watchdog = std::make_unique<comm::Watchdog>(
            comm, comm::WatchdogOptions{.stuck_after = patience, .last_words = LastWords::speak});
        // A service that fails ends the rank there and then: the others wait for its answers.
        comm.transport().set_failure_handler([&](const std::exception_ptr& failure) {
            fail_rank(watchdog.get(), rank, failure, true);
        });
        guard.reset();
        const LostFileWatch files([&](const Error& error) {
            LastWords::speak(in_one_line(error));
            fail_rank(watchdog.get(), rank, error.exit_code(), in_one_line(error), error.what());
        });
        const int code = body(comm);
        comm.barrier();
        watchdog.reset();
        comm::write_rank_status(code, "");
        return code;
    } catch (const std::exception&) {
        fail_rank(watchdog.get(), rank, std::current_exception(), false);
    }
}

/// Refuses tasks of srun that do not know of each other: each would train alone, as rank 0.
void refuse_strangers() {
    const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
    const auto count = tasks == nullptr ? std::nullopt : parse_u64(tasks);
    if (!count || *count < 2) return;
    throw usage_error(fmt::format("srun started {} tasks that do not know of each other", *count),
                      "srun", "start them with srun --mpi=pmix (see srun --mpi=list), or mpirun");
}

}  // namespace

bool is_launched_rank() noexcept {
    return std::getenv(launched_variable) != nullptr && comm::MpiSession::launched();
}

std::vector<std::string> typed_arguments(std::vector<std::string> arguments, int ranks) {
    if (is_launched_rank()) {
        arguments.emplace_back("--ranks");
        arguments.push_back(std::to_string(ranks));
    }
    return arguments;
}

bool is_rank() {
    return comm::MpiSession::launched();
}

int run_ranked(const RankOptions& options, const comm::Fingerprint& fingerprint,
               const RankBody& body) {
    if (!options.link.empty()) static_cast<void>(comm::parse_link(options.link));
    if (options.ranks > 0) return launch(options);
    if (comm::MpiSession::launched()) return run_rank(options, fingerprint, body);
    refuse_strangers();
    const LostFileWatch files([](const Error& error) {
        LastWords::speak(in_one_line(error));
        fmt::print(stderr, "rudder: error: {}\n", error.what());
        std::fflush(nullptr);
        ::_exit(error.exit_code());
    });
    return body(comm::Communicator::local());
}

}  // namespace rudder::run
