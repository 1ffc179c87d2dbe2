#include "launcher.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/interrupt.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "launched_ranks.hpp"
#include "launcher_guard.hpp"
#include "launcher_watch.hpp"
#include "meeting.hpp"
#include "mpi_transport.hpp"
#include "rank_status.hpp"
#include "socket_job.hpp"

namespace rudder::comm {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto pause = std::chrono::milliseconds(20);

std::string find_program(const std::string& name) {
    const char* path = std::getenv("PATH");
    for (const std::string_view folder : split(path == nullptr ? "" : path, ':')) {
        const fs::path file = fs::path(folder) / name;
        if (::access(file.c_str(), X_OK) == 0) return file.string();
    }
    return {};
}

/// Whether a launcher is Open MPI's, by its own word.
bool is_open_mpi(const std::string& launcher) {
    FILE* pipe = ::popen((launcher + " --version 2>&1").c_str(), "r");
    if (pipe == nullptr) return false;
    std::array<char, 256> text{};
    const std::size_t got = std::fread(text.data(), 1, text.size() - 1, pipe);
    ::pclose(pipe);
    return std::string_view(text.data(), got).find("Open MPI") != std::string_view::npos ||
           std::string_view(text.data(), got).find("OpenRTE") != std::string_view::npos;
}

/// A folder for what ranks leave, removed at the end; those of launchers that were killed are
/// removed first. Its lock tells the living from the dead.
class LauncherFolder {
public:
    explicit LauncherFolder(const fs::path& parent) : path_(make(parent)), lock_(path_) {}
    ~LauncherFolder() {
        std::error_code code;
        fs::remove_all(path_, code);
    }
    LauncherFolder(LauncherFolder&&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }
    [[nodiscard]] const LauncherLock& lock() const { return lock_; }

private:
    static fs::path make(const fs::path& parent) {
        sweep_launcher_folders(parent);
        std::string name =
            fmt::format("{}{}-XXXXXX", (parent / launcher_folder_beginning).string(), ::getpid());
        if (::mkdtemp(name.data()) == nullptr)
            throw system_error("cannot make a folder for the ranks", name, errno);
        return name;
    }
    fs::path path_;
    LauncherLock lock_;
};

constexpr const char* shared_memory = "/dev/shm";

/// Statuses of the ranks, and where there is shared memory, MPI's segments.
struct LauncherFolders {
    LauncherFolder statuses{fs::temp_directory_path()};
    std::optional<LauncherFolder> segments;

    explicit LauncherFolders(Carrier carrier) {
        if (carrier == Carrier::mpi && std::getenv(segment_variable) == nullptr &&
            ::access(shared_memory, W_OK) == 0)
            segments.emplace(shared_memory);
    }
};

/// A process of the command; `prepare` is called in it first.
template <class Prepare>
pid_t start(const std::vector<std::string>& command, const LauncherFolders& folders,
            Prepare&& prepare) {
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) throw system_error("cannot start ranks", command.front(), errno);
    if (child > 0) return child;
    // It ends with us, whatever ends us; mpirun, told so, ends its ranks, too.
    end_with_parent(self, SIGTERM);
    // A group of its own: a Ctrl-C goes to us, who pass it on to the ranks themselves.
    ::setpgid(0, 0);
    ::setenv(status_folder_variable, folders.statuses.path().c_str(), 1);
    if (folders.segments) ::setenv(segment_variable, folders.segments->path().c_str(), 1);
    folders.statuses.lock().announce();
    prepare();
    std::vector<char*> arguments;
    for (const std::string& word : command)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

/// Waits for mpirun, or the ranks; passes an interrupt on; after the grace period ends what is
/// left.
class Supervision {
public:
    Supervision(std::vector<pid_t> children, LaunchedRanks& ranks, const LaunchOptions& options)
        : children_(std::move(children)), ranks_(ranks), options_(options) {}

    void run() {
        while (any_left()) {
            ranks_.look();
            if (interrupted()) ranks_.interrupt();
            note_deadline();
            if (deadline_ && Clock::now() > *deadline_) end_by_force();
            std::this_thread::sleep_for(pause);
        }
        ranks_.look();
        ranks_.kill();  // those mpirun has lost sight of
    }

private:
    /// Children that have ended are taken out; ranks among them stand in the order of ranks.
    [[nodiscard]] bool any_left() {
        bool any = false;
        for (std::size_t i = 0; i < children_.size(); ++i) {
            if (children_[i] == gone) continue;
            int status = 0;
            const pid_t ended = ::waitpid(children_[i], &status, WNOHANG);
            if (ended == 0) {
                any = true;
                continue;
            }
            if (ended > 0 && options_.carrier == Carrier::sockets)
                ranks_.exited(static_cast<int>(i), status);
            children_[i] = gone;
        }
        return any;
    }
    /// Trouble leaves less time than an interrupt.
    void note_deadline() {
        const auto sooner = [this](std::chrono::milliseconds grace) {
            deadline_ =
                std::min(deadline_.value_or(Clock::time_point::max()), Clock::now() + grace);
        };
        if (interrupted() && !std::exchange(told_, true)) sooner(options_.interrupt_grace);
        if (!troubled_ && ranks_.troubled()) {
            troubled_ = true;
            sooner(options_.grace);
        }
    }
    /// The ranks at once, then mpirun, which is given time to clear up.
    void end_by_force() {
        ranks_.kill();
        if (!forced_) {
            forced_ = Clock::now();
            signal_children(SIGTERM, Whom::process);
        } else if (Clock::now() > *forced_ + options_.grace) {
            signal_children(SIGKILL, Whom::group);
        }
    }
    enum class Whom : std::uint8_t { process, group };
    void signal_children(int signal, Whom whom) const {
        for (const pid_t child : children_) {
            if (child != gone) ::kill(whom == Whom::group ? -child : child, signal);
        }
    }

    static constexpr pid_t gone = -1;

    std::vector<pid_t> children_;
    LaunchedRanks& ranks_;
    const LaunchOptions& options_;
    std::optional<Clock::time_point> deadline_;
    std::optional<Clock::time_point> forced_;
    bool told_ = false;
    bool troubled_ = false;
};

/// Open MPI keeps a segment of this size for each rank in /dev/shm, we some pages more.
constexpr std::uint64_t segment_bytes = std::uint64_t{4} << 20;
constexpr std::uint64_t board_bytes = std::uint64_t{64} << 10;

/// MPI's own end, where there is too little, tells neither what is full nor how much is needed.
void check_shared_memory(int ranks) {
    if (std::getenv(segment_variable) != nullptr) return;
    struct statvfs room {};
    if (::statvfs(shared_memory, &room) != 0) return;
    const std::uint64_t free = std::uint64_t{room.f_bavail} * room.f_frsize;
    const std::uint64_t needed = static_cast<std::uint64_t>(ranks) * (segment_bytes + board_bytes);
    if (free >= needed) return;
    throw Error(ErrorKind::failed,
                fmt::format("too little shared memory for {} ranks: {} free, {} needed", ranks,
                            format_bytes(free), format_bytes(needed)),
                shared_memory,
                "remove files there, or make it larger (mount -o remount,size=1g /dev/shm; "
                "docker run --shm-size 1g)");
}

}  // namespace

bool MpiSession::launched() {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "PMI_RANK"}) {
        if (std::getenv(name) != nullptr) return true;
    }
    return false;
}

std::vector<std::string> mpirun_command(int ranks) {
    std::string launcher = find_program("mpirun");
    if (launcher.empty()) launcher = find_program("mpiexec");
    if (launcher.empty()) return {};
    std::vector<std::string> command{launcher, "-n", std::to_string(ranks)};
    if (!is_open_mpi(launcher)) return command;
    if (::geteuid() == 0) command.emplace_back("--allow-run-as-root");
    // More ranks than cores must yield; shared memory and loopback are all that is needed; a rank
    // that fails tells the others itself, so mpirun shall neither kill nor comment.
    for (const char* word : {"--quiet",
                             "--oversubscribe",
                             "--bind-to",
                             "none",
                             "--enable-recovery",
                             "--mca",
                             "orte_abort_on_non_zero_status",
                             "0",
                             "--mca",
                             "mpi_yield_when_idle",
                             "1",
                             "--mca",
                             "pml",
                             "ob1",
                             "--mca",
                             "btl",
                             "vader,self",
                             "--mca",
                             "oob_tcp_if_include",
                             "lo"}) {
        command.emplace_back(word);
    }
    return command;
}

namespace {

std::vector<pid_t> start_mpirun(const LaunchOptions& options, const LauncherFolders& folders) {
    std::vector<std::string> command = mpirun_command(options.ranks);
    command.insert(command.end(), options.command.begin(), options.command.end());
    return {start(command, folders, [] {})};
}

/// They meet at a socket that listens before any of them has begun.
std::vector<pid_t> start_ranks(const LaunchOptions& options, const LauncherFolders& folders) {
    SocketJob job;
    job.size = options.ranks;
    const int listener = listen_on(0, Reach::this_machine);
    job.port = port_of(listener);
    const JobToken secret = draw_token();
    job.secret = fmt::format("{:x}-{:x}", secret[0], secret[1]);
    std::vector<pid_t> children;
    for (job.rank = 0; job.rank < job.size; ++job.rank) {
        job.listener = job.rank == 0 ? listener : -1;
        children.push_back(start(options.command, folders, [&] {
            announce_job(job);
            if (job.rank == 0) ::fcntl(listener, F_SETFD, 0);
        }));
    }
    ::close(listener);
    return children;
}

void check_mpirun(int ranks) {
    require_mpi();
    if (!has_mpirun()) {
        throw Error(ErrorKind::failed, "mpirun not found", "PATH",
                    "install Open MPI (openmpi-bin on Debian and Ubuntu), or give --transport "
                    "sockets");
    }
    check_shared_memory(ranks);
}

}  // namespace

bool has_mpirun() {
    return !find_program("mpirun").empty() || !find_program("mpiexec").empty();
}

std::optional<Carrier> launched_with() noexcept {
    if (MpiSession::launched()) return Carrier::mpi;
    if (sockets_launched()) return Carrier::sockets;
    return std::nullopt;
}

int launch_ranks(const LaunchOptions& options) {
    const bool mpi = options.carrier == Carrier::mpi;
    if (mpi) check_mpirun(options.ranks);
    throw_if_interrupted();
    const LauncherFolders folders(options.carrier);
    LaunchedRanks ranks(options.ranks, folders.statuses.path(),
                        mpi ? RankParent::mpirun : RankParent::launcher);
    const std::vector<pid_t> children =
        mpi ? start_mpirun(options, folders) : start_ranks(options, folders);
    {
        // Ranks that are told themselves write a checkpoint; mpirun has nothing to keep.
        const LauncherGuard guard(children, mpi ? options.grace : options.interrupt_grace);
        Supervision(children, ranks, options).run();
    }
    if (interrupted() && !ranks.any_spoke()) throw_if_interrupted();
    return ranks.code();
}

}  // namespace rudder::comm
