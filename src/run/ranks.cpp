#include "rudder/run/ranks.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "comm/launcher.hpp"
#include "comm/launcher_watch.hpp"
#include "comm/mpi_transport.hpp"
#include "comm/rank_status.hpp"
#include "comm/socket_transport.hpp"
#include "comm/watchdog.hpp"
#include "core/build_parts.hpp"
#include "core/interrupt.hpp"
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

/// Of ranks that are to be started.
comm::Carrier carrier_of(const RankOptions& options) {
    if (options.transport == "sockets") return comm::Carrier::sockets;
    const bool mpi = options.transport == "mpi" || (built_in("MPI") && comm::has_mpirun());
    return mpi ? comm::Carrier::mpi : comm::Carrier::sockets;
}

/// Of this rank; a usage Error where its launcher is not for what was asked for.
comm::Carrier carrier_of_rank(const RankOptions& options) {
    if (options.transport == "sockets") return comm::Carrier::sockets;
    const comm::Carrier launched = comm::launched_with().value();
    if (options.transport == "mpi" && launched != comm::Carrier::mpi) {
        throw usage_error("--transport mpi requires ranks that MPI has started", "transport",
                          "start them with mpirun or srun, or leave --transport out");
    }
    return launched;
}

int launch_with(const RankOptions& options, const std::vector<std::string>& arguments) {
    comm::LaunchOptions launch{
        .ranks = options.ranks, .carrier = carrier_of(options), .command = {}};
    launch.command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
    for (std::string& word : rank_arguments(arguments)) {
        launch.command.push_back(std::move(word));
    }
    return comm::launch_ranks(launch);
}

bool died(int code) {
    return code == static_cast<int>(ErrorKind::rank) && !interrupted();
}

int launch(const RankOptions& options) {
    if (comm::launched_with()) {
        throw usage_error("--ranks starts ranks, but a launcher has already started this one",
                          "--ranks", "leave --ranks out under mpirun, srun or torchrun");
    }
    partition::check_ranks(options.ranks, options.parts);
    ::setenv(launched_variable, "1", 1);
    int code = launch_with(options, options.arguments);
    for (int again = 1; again <= options.restarts && died(code); ++again) {
        log::warning(fmt::format("starting again from the last checkpoint ({} of {}): a rank died",
                                 again, options.restarts));
        code = launch_with(options, options.arguments_again);
    }
    return code;
}

/// Whether another rank says what this error says: it was its, and all gave up together.
bool told_by_other(const Error& error, int rank) {
    return error.rank().value_or(rank) != rank;
}

/// An interrupt with what to do after it.
Error with_remedy(const Error& error, const RankOptions& options) {
    if (error.kind() != ErrorKind::interrupted || !options.after_interrupt) return error;
    return {error.kind(), error.problem(), error.where(), options.after_interrupt()};
}

/// How a rank ends that fails.
struct RankEnd {
    int code = static_cast<int>(ErrorKind::failed);
    std::string problem;  ///< for the other ranks and the launcher
    std::string text;     ///< for people; empty: another says it
};

/// Ends a rank: tells the others, says why, and leaves without waiting for them. The first thread
/// that calls it does so.
[[noreturn]] void end_rank(comm::Watchdog* watchdog, int rank, const RankEnd& end) {
    static std::atomic_flag ending;
    while (ending.test_and_set())
        std::this_thread::sleep_for(std::chrono::seconds(1));
    if (watchdog != nullptr) watchdog->announce_failure(end.code, end.problem);
    if (!end.text.empty()) log::last_error(fmt::format("rank {}: {}", rank, end.text));
    std::fflush(nullptr);
    comm::write_rank_status(end.code, end.problem);
    ::_exit(end.code);
}

std::string in_one_line(const Error& error) {
    return error.where().empty() ? error.problem()
                                 : fmt::format("{} ({})", error.problem(), error.where());
}

/// The end of a rank that was interrupted before the watchdog was up.
RankEnd interrupted_joining(const RankOptions& options) {
    const Error error =
        with_remedy(Error(ErrorKind::interrupted, "interrupted before all ranks had come together",
                          "", "nothing was left behind; start again"),
                    options);
    return {error.exit_code(), error.problem(), error.what()};
}

RankEnd end_of(const std::exception_ptr& failure, const RankOptions& options, int rank,
               const comm::Watchdog* watchdog) {
    try {
        std::rethrow_exception(failure);
    } catch (const Error& thrown) {
        // A peer that is gone while the ranks meet may have been interrupted a moment earlier.
        if (thrown.kind() == ErrorKind::rank && watchdog == nullptr && comm::launcher_interrupted())
            return interrupted_joining(options);
        const Error error = with_remedy(thrown, options);
        // A SIGTERM that a launcher sends because a peer is gone is not the user's.
        const bool lost = error.kind() == ErrorKind::interrupted && watchdog != nullptr &&
                          watchdog->peer_missing() && !comm::launcher_interrupted();
        return {lost ? static_cast<int>(ErrorKind::rank) : error.exit_code(), in_one_line(error),
                told_by_other(thrown, rank) ? "" : error.what()};
    } catch (const std::bad_alloc&) {
        return {static_cast<int>(ErrorKind::failed), "out of memory",
                "out of memory\n  to do: work on a smaller graph"};
    } catch (const std::exception& error) {
        return {static_cast<int>(ErrorKind::failed), error.what(), error.what()};
    }
}

/// Ends a rank that does not find the others, or is interrupted before it has: until the watchdog
/// is up nobody else would notice.
class StartGuard {
public:
    explicit StartGuard(const RankOptions& options)
        : options_(options), thread_([this] { watch(); }) {}
    ~StartGuard() {
        {
            const std::scoped_lock lock(mutex_);
            started_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

private:
    void watch() {
        const auto begin = std::chrono::steady_clock::now();
        const std::chrono::duration<double> limit(options_.stuck_after);
        std::unique_lock lock(mutex_);
        while (!changed_.wait_for(lock, look_up, [this] { return started_; })) {
            if (interrupted()) leave_interrupted();
            if (std::chrono::steady_clock::now() - begin >= limit) leave_alone();
        }
    }
    [[noreturn]] void leave_interrupted() const {
        end_rank(nullptr, comm::launched_rank(), interrupted_joining(options_));
    }
    [[noreturn]] void leave_alone() const {
        const std::string reason =
            fmt::format("not all ranks have come together within {:.1f} s", options_.stuck_after);
        end_rank(nullptr, comm::launched_rank(),
                 {static_cast<int>(ErrorKind::rank), reason,
                  reason + "\n  to do: look for ranks that did not start; raise --stuck-after"});
    }

    static constexpr auto look_up = std::chrono::milliseconds(50);
    const RankOptions& options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool started_ = false;
    std::thread thread_;
};

/// The launcher was killed: as after an interrupt, but nobody is there to end ranks that go on.
void end_without_launcher() {
    constexpr auto grace = std::chrono::seconds(3);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGTERM, SIG_IGN);  // of mpirun, which is ending, too
    set_interrupted(true);
    comm::remove_launcher_folders();
    std::this_thread::sleep_for(grace);
    const int code = static_cast<int>(ErrorKind::interrupted);
    LastWords::speak(code, "the launcher of the ranks was killed");
    ::_exit(code);
}

/// A rank that works: who it is, and who watches it.
class WorkingRank {
public:
    explicit WorkingRank(const RankOptions& options) : options_(options) {}

    /// Meets the others.
    [[nodiscard]] std::shared_ptr<comm::Transport> join(comm::Carrier carrier) const {
        std::optional<comm::LinkModel> link;
        std::vector<comm::LinkChange> changes;
        if (!options_.link.empty()) {
            comm::LinkSchedule schedule = comm::parse_link_schedule(options_.link);
            link = schedule.first;
            changes = std::move(schedule.changes);
        }
        if (carrier == comm::Carrier::mpi) {
            return comm::make_mpi_transport({.ranks_per_host = options_.ranks_per_host,
                                             .link = link,
                                             .link_changes = std::move(changes)});
        }
        // Who is missing is told before the guard of the start ends this rank.
        const std::chrono::duration<double> patience(
            std::min(options_.stuck_after * 0.9, most_patience));
        return comm::make_socket_transport(
            {.job = comm::socket_job(),
             .ranks_per_host = options_.ranks_per_host,
             .link = link,
             .link_changes = std::move(changes),
             .patience = std::chrono::duration_cast<std::chrono::milliseconds>(patience)});
    }
    void set_rank(int rank) {
        rank_ = rank;
        log::set_rank(rank);
        comm::write_rank_process(rank, comm::RankStage::joined);
    }
    void watch(const comm::Communicator& comm) {
        const auto patience = std::chrono::milliseconds(
            static_cast<std::chrono::milliseconds::rep>(options_.stuck_after * 1000));
        owned_ = std::make_unique<comm::Watchdog>(
            comm, comm::WatchdogOptions{.stuck_after = patience, .last_words = LastWords::speak});
        watchdog_ = owned_.get();
        // A service that fails ends the rank there and then: the others wait for its answers.
        comm.transport().set_failure_handler(
            [this](const std::exception_ptr& failure) { fail_beside(failure); });
    }
    void end_watch() {
        watchdog_ = nullptr;
        owned_.reset();
    }
    /// Outside the working thread: the run has not unwound, and is told.
    [[noreturn]] void fail_beside(const std::exception_ptr& failure) const {
        const RankEnd end = end_of(failure, options_, rank_, watchdog_);
        LastWords::speak(end.code, end.problem);
        end_rank(watchdog_, rank_, end);
    }
    [[noreturn]] void fail(const std::exception_ptr& failure) const {
        end_rank(watchdog_, rank_, end_of(failure, options_, rank_, watchdog_));
    }

private:
    static constexpr double most_patience = 60;  ///< seconds, for ranks to come together
    const RankOptions& options_;
    std::atomic<int> rank_{std::max(0, comm::launched_rank())};
    std::unique_ptr<comm::Watchdog> owned_;
    std::atomic<comm::Watchdog*> watchdog_{nullptr};
};

int run_rank(const RankOptions& options, const comm::Fingerprint& fingerprint,
             const RankBody& body) {
    comm::write_rank_process(comm::launched_rank(), comm::RankStage::joining);
    comm::watch_launcher(end_without_launcher);
    auto guard = std::make_unique<StartGuard>(options);
    std::optional<comm::MpiSession> session;  // a rank that fails must not wait for the others
    WorkingRank rank(options);
    try {
        const comm::Carrier carrier = carrier_of_rank(options);
        if (carrier == comm::Carrier::mpi) session.emplace();
        const comm::Communicator comm(rank.join(carrier));
        rank.set_rank(comm.rank());
        comm.set_paranoid(options.paranoid);
        comm::Fingerprint all = fingerprint;
        all.insert(all.begin(), {"build", comm::build_fingerprint()});
        comm::verify_same(comm, all);
        partition::check_ranks(comm.size(), options.parts);
        rank.watch(comm);
        guard.reset();
        const LostFileWatch files(
            [&](const Error& error) { rank.fail_beside(std::make_exception_ptr(error)); });
        const int code = body(comm);
        comm.barrier();
        rank.end_watch();
        comm::write_rank_status(code, "");
        return code;
    } catch (const std::exception&) {
        rank.fail(std::current_exception());
    }
}

/// Runs it; an interrupt gets its remedy.
template <class Run>
int with_remedies(const RankOptions& options, Run&& run) {
    try {
        return run();
    } catch (const Error& error) {
        throw with_remedy(error, options);
    }
}

/// What the options' table refuses otherwise is plain.
log::Format format_of(const std::string& name) {
    const auto found = std::ranges::find(log::format_names, name);
    return found == log::format_names.end()
               ? log::Format::plain
               : static_cast<log::Format>(found - log::format_names.begin());
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
    return std::getenv(launched_variable) != nullptr && comm::launched_with().has_value();
}

std::vector<std::string> typed_arguments(std::vector<std::string> arguments, int ranks) {
    if (is_launched_rank()) {
        arguments.emplace_back("--ranks");
        arguments.push_back(std::to_string(ranks));
    }
    return arguments;
}

bool is_rank() {
    return comm::launched_with().has_value();
}

int run_ranked(const RankOptions& options, const comm::Fingerprint& fingerprint,
               const RankBody& body) {
    if (!options.link.empty()) static_cast<void>(comm::parse_link_schedule(options.link));
    log::set_format(format_of(options.log_format));
    if (is_rank()) log::set_rank(comm::launched_rank());
    if (options.ranks > 0) return with_remedies(options, [&] { return launch(options); });
    if (is_rank()) return run_rank(options, fingerprint, body);
    refuse_strangers();
    const LostFileWatch files([](const Error& error) {
        LastWords::speak(error.exit_code(), in_one_line(error));
        log::last_error(error.what());
        std::fflush(nullptr);
        ::_exit(error.exit_code());
    });
    return with_remedies(options, [&] { return body(comm::Communicator::local()); });
}

}  // namespace rudder::run
