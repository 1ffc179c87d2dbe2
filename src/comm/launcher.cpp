#include "launcher.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/interrupt.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "mpi_transport.hpp"
#include "rank_status.hpp"

namespace rudder::comm {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto pause = std::chrono::milliseconds(20);
/// A rank that has not shown itself so long after the first one did was lost before it could.
constexpr auto muster = std::chrono::seconds(30);

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

/// The folder in which ranks leave their statuses, removed at the end.
class StatusFolder {
public:
    StatusFolder() {
        std::string name = (fs::temp_directory_path() / "rudder-ranks-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) {
            throw system_error("cannot make a folder for the ranks' statuses", name, errno);
        }
        path_ = name;
    }
    ~StatusFolder() {
        std::error_code code;
        fs::remove_all(path_, code);
    }
    StatusFolder(StatusFolder&&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

pid_t start(const std::vector<std::string>& command, const fs::path& folder) {
    const pid_t child = ::fork();
    if (child < 0) throw system_error("cannot start mpirun", command.front(), errno);
    if (child > 0) return child;
    // A group of its own: a Ctrl-C goes to us, who pass it on to the ranks themselves.
    ::setpgid(0, 0);
    ::setenv(status_folder_variable, folder.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : command)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

/// The ranks that have been started, seen through what they leave.
class Ranks {
public:
    Ranks(int count, const fs::path& folder) : count_(count), folder_(folder) {}

    void signal(int number) const {
        for (int r = 0; r < count_; ++r) {
            const auto pid = read_rank_pid(folder_, r);
            if (pid && *pid > 1 && !read_rank_status(folder_, r)) ::kill(*pid, number);
        }
    }
    /// Whether one has ended badly, so that the others should end soon.
    [[nodiscard]] bool troubled() {
        int missing = 0;
        for (int r = 0; r < count_; ++r) {
            if (const auto status = read_rank_status(folder_, r)) {
                if (status->code != 0) return true;
                continue;
            }
            const auto pid = read_rank_pid(folder_, r);
            if (pid && ::kill(*pid, 0) != 0) return true;
            if (!pid) ++missing;
        }
        if (missing == count_) return false;
        if (!first_seen_) first_seen_ = Clock::now();
        return missing > 0 && Clock::now() > *first_seen_ + muster;
    }
    /// The code of the whole, with a message for what no rank could say itself.
    [[nodiscard]] int code() const {
        std::vector<int> codes;
        for (int r = 0; r < count_; ++r) {
            const auto status = read_rank_status(folder_, r);
            codes.push_back(status ? status->code : static_cast<int>(ErrorKind::rank));
            if (status) continue;
            fmt::print(stderr,
                       "rudder: error: rank {} ended without a status: it was killed or crashed\n",
                       r);
        }
        return most_severe(codes);
    }

private:
    int count_;
    fs::path folder_;
    std::optional<Clock::time_point> first_seen_;
};

/// Waits for mpirun; passes an interrupt on; after the grace period ends what is left.
void supervise(pid_t mpirun, Ranks& ranks, std::chrono::milliseconds grace) {
    std::optional<Clock::time_point> deadline;
    bool told = false;
    bool killed = false;
    int status = 0;
    while (::waitpid(mpirun, &status, WNOHANG) == 0) {
        if (interrupted() && !told) {
            ranks.signal(SIGTERM);
            told = true;
        }
        if (!deadline && (told || ranks.troubled())) deadline = Clock::now() + grace;
        if (deadline && Clock::now() > *deadline && !killed) {
            ranks.signal(SIGKILL);
            ::kill(-mpirun, SIGKILL);
            killed = true;
        }
        std::this_thread::sleep_for(pause);
    }
    ranks.signal(SIGKILL);  // those mpirun has lost sight of
}

}  // namespace

int most_severe(const std::vector<int>& codes) {
    static constexpr std::array order{4, 1, 3, 2, 5};
    for (const int code : order) {
        if (std::ranges::find(codes, code) != codes.end()) return code;
    }
    const auto other = std::ranges::find_if(codes, [](int code) { return code != 0; });
    return other == codes.end() ? 0 : *other;
}

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

int launch_ranks(const LaunchOptions& options) {
    require_mpi();
    std::vector<std::string> command = mpirun_command(options.ranks);
    if (command.empty()) {
        throw Error(ErrorKind::failed, "mpirun not found", "PATH", "install Open MPI: make setup");
    }
    command.insert(command.end(), options.command.begin(), options.command.end());
    const StatusFolder folder;
    Ranks ranks(options.ranks, folder.path());
    const pid_t mpirun = start(command, folder.path());
    supervise(mpirun, ranks, options.grace);
    return ranks.code();
}

}  // namespace rudder::comm
