#include "watchdog.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.hpp"
#include "rudder/core/checksum.hpp"

#include "peer_links.hpp"
#include "process_handle.hpp"
#include "rank_status.hpp"
#include "watch_board.hpp"
#include "window.hpp"

namespace rudder::comm {

namespace {

using namespace std::chrono_literals;

constexpr int tick_ms = 100;
constexpr auto time_to_be_heard = 50ms;
/// For a last report, where a connection is full.
constexpr auto time_to_leave = 500ms;
constexpr std::int64_t heartbeat_limit_ns = 500'000'000;

/// What tells two processes whether they can hold handles of each other: the machine's boot and the
/// space their process numbers live in.
std::uint64_t machine_id() {
    std::ifstream in("/proc/sys/kernel/random/boot_id");
    std::string boot;
    in >> boot;
    struct stat space {};
    ::stat("/proc/self/ns/pid", &space);
    boot += fmt::format(" {} {}", space.st_dev, space.st_ino);
    return hash_bytes(std::as_bytes(std::span(boot)));
}

struct Identity {
    std::uint64_t machine;
    std::int64_t pid;
};

/// What this rank knows of another.
struct Peer {
    Identity identity{};
    std::optional<ProcessHandle> handle;  ///< of a process on this machine
    bool gone = false;
    RankReport report;
    std::int64_t heard = 0;     ///< when it last gave a sign of life
    std::int64_t advanced = 0;  ///< when its progress last changed
};

void end_process(int code, const std::string& reason) {
    log::last_error(reason);
    write_rank_status(code, reason);
    // A launcher that aborts the job may close the pipe before it has read the message.
    std::this_thread::sleep_for(time_to_be_heard);
    ::_exit(code);
}

}  // namespace

struct Watchdog::State {
    State(const Communicator& with, const WatchdogOptions& settings)
        : comm(with), options(settings), me(static_cast<std::size_t>(with.rank())) {
        if (!options.on_end) options.on_end = end_process;
        // For tests on one machine: watch as if the ranks were on several.
        if (std::getenv("RUDDER_WATCH_CONNECTIONS") != nullptr) options.connections_only = true;
    }

    void meet();
    void make_board(const std::vector<bool>& here, const JobToken& token);
    void watch_process(std::size_t rank);
    void hear(std::size_t rank, std::int64_t now);
    void watch();
    void publish();
    void listen(std::span<const pollfd> polls);
    void look_at(std::size_t rank);
    void look_for_stuck();
    void note_gone(std::size_t rank);
    void end_job(int code, const std::string& reason);
    [[nodiscard]] std::string table() const;
    [[nodiscard]] std::span<BoardEntry> board() const {
        return {reinterpret_cast<BoardEntry*>(window->data()), peers.size()};
    }
    [[nodiscard]] bool near(std::size_t rank) const { return peers[rank].handle.has_value(); }

    Communicator comm;
    WatchdogOptions options;
    std::size_t me;
    std::vector<Peer> peers;
    std::shared_ptr<std::span<std::byte>> window;
    std::unique_ptr<PeerLinks> links;
    int wake = -1;
    std::mutex mutex;  ///< guards `own`, and sending
    RankReport own;
    std::atomic<bool> stopping{false};
    std::atomic<bool> missing{false};
    std::int64_t waiting_since = 0;  ///< since when no rank has done anything but wait
    std::thread thread;
};

void Watchdog::State::meet() {
    const Identity mine{machine_id(), ::getpid()};
    JobToken token = draw_token();
    comm.broadcast(0, std::span<std::uint64_t>(token));
    peers.resize(static_cast<std::size_t>(comm.size()));
    std::vector<bool> here(peers.size(), false);
    std::vector<bool> elsewhere(peers.size(), false);
    const auto all = comm.all_gather(std::span(&mine, 1));
    const std::int64_t now = monotonic_ns();
    for (std::size_t r = 0; r < peers.size(); ++r) {
        peers[r].identity = all[r].front();
        peers[r].heard = peers[r].advanced = now;
        const bool same = peers[r].identity.machine == mine.machine && !options.connections_only;
        here[r] = same || r == me;
        elsewhere[r] = !here[r];
        if (r != me && same) watch_process(r);
    }
    make_board(here, token);
    links = std::make_unique<PeerLinks>(comm, elsewhere, token);
    wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

/// Those who have just met were all alive a moment ago.
void Watchdog::State::watch_process(std::size_t rank) {
    peers[rank].handle = ProcessHandle::open(static_cast<pid_t>(peers[rank].identity.pid));
    if (peers[rank].handle) return;
    throw Error(ErrorKind::rank, fmt::format("rank {} died while the ranks met", rank), "watchdog",
                "look for what killed it (out of memory?); start again");
}

/// The board of this machine: its first rank makes it, all map it, then its name goes.
void Watchdog::State::make_board(const std::vector<bool>& here, const JobToken& token) {
    const auto first = static_cast<std::size_t>(std::ranges::find(here, true) - here.begin());
    const std::string name = fmt::format("{}watch-{:x}-{}", window_prefix, token[0], first);
    const std::size_t bytes = sizeof(BoardEntry) * peers.size();
    if (first == me) window = create_shared_window(name, bytes);
    comm.barrier();
    if (first != me) window = open_shared_window(name, bytes);
    board()[me].write(report_phases());
    comm.barrier();
    if (first == me) unlink_shared_window(name);
}

void Watchdog::State::publish() {
    const std::scoped_lock lock(mutex);
    if (own.state == RankState::running) own = report_phases();
    board()[me].write(own);
    links->send_all(own);
}

void Watchdog::State::watch() {
    while (!stopping.load(std::memory_order_acquire)) {
        publish();
        std::vector<pollfd> polls{{wake, POLLIN, 0}};
        for (std::size_t r = 0; r < peers.size(); ++r) {
            const int fd =
                near(r) ? peers[r].handle->descriptor() : links->socket(static_cast<int>(r));
            polls.push_back({peers[r].gone ? -1 : fd, POLLIN, 0});
        }
        ::poll(polls.data(), polls.size(), tick_ms);
        if (stopping.load(std::memory_order_acquire)) return;
        listen(std::span(polls).subspan(1));
        look_for_stuck();
    }
}

void Watchdog::State::listen(std::span<const pollfd> polls) {
    const std::int64_t now = monotonic_ns();
    bool silent = false;
    for (std::size_t r = 0; r < peers.size(); ++r) {
        Peer& peer = peers[r];
        if (r == me || peer.gone) continue;
        const std::uint64_t before = peer.report.progress;
        if (near(r)) {
            peer.report = board()[r].read();
            peer.heard = board()[r].heartbeat.load(std::memory_order_acquire);
            if ((polls[r].revents & POLLIN) != 0) note_gone(r);
        } else if (polls[r].fd >= 0 && polls[r].revents != 0) {
            hear(r, now);
        }
        if (peer.report.progress != before || peer.report.waiting != 0) peer.advanced = now;
        look_at(r);
        silent = silent || (!peer.gone && now - peer.heard > heartbeat_limit_ns);
    }
    missing.store(silent, std::memory_order_relaxed);
}

/// Reads what a rank of another machine has sent.
void Watchdog::State::hear(std::size_t rank, std::int64_t now) {
    const PeerLinks::Heard heard = links->receive(static_cast<int>(rank), peers[rank].report);
    if (heard == PeerLinks::Heard::report) peers[rank].heard = now;
    if (heard == PeerLinks::Heard::closed) note_gone(rank);
    if (heard != PeerLinks::Heard::nonsense) return;
    peers[rank].gone = true;
    end_job(static_cast<int>(ErrorKind::rank),
            fmt::format("rank {} sends reports that cannot be read\n  to do: look for a network "
                        "that damages data; resume from the last checkpoint",
                        rank));
}

/// A rank that said it fails ends the job at once, with its code.
void Watchdog::State::look_at(std::size_t rank) {
    const RankReport& report = peers[rank].report;
    if (report.state != RankState::failed) return;
    const std::string reason(report.reason.data());
    end_job(report.code,
            report.relayed != 0 ? reason : fmt::format("rank {} failed: {}", rank, reason));
}

/// Passes the cause on, so that this rank's own end is not taken for another death.
void Watchdog::State::end_job(int code, const std::string& reason) {
    {
        const std::scoped_lock lock(mutex);
        if (own.state == RankState::failed) return;  // this rank is ending already, by itself
        own = report_phases();
        own.state = RankState::failed;
        own.code = code;
        own.relayed = 1;
        set_text(own.reason, reason);
    }
    publish();
    links->flush(time_to_leave);
    if (options.last_words) options.last_words(code, reason);
    options.on_end(code, reason);
}

/// A process or connection has ended: as it said, or by death.
void Watchdog::State::note_gone(std::size_t rank) {
    Peer& peer = peers[rank];
    if (near(rank)) peer.report = board()[rank].read();
    peer.gone = true;
    if (peer.report.state == RankState::finished) return;
    look_at(rank);
    end_job(static_cast<int>(ErrorKind::rank),
            fmt::format("rank {} died while in: {}\n  to do: look for what killed it (out of "
                        "memory?); resume from the last checkpoint",
                        rank, peer.report.phase.data()));
}

void Watchdog::State::look_for_stuck() {
    const std::int64_t now = monotonic_ns();
    const std::int64_t limit = std::chrono::nanoseconds(options.stuck_after).count();
    peers[me].report = report_phases();
    bool all_wait = true;
    for (std::size_t r = 0; r < peers.size(); ++r) {
        const Peer& peer = peers[r];
        if (peer.gone || peer.report.state == RankState::finished) continue;
        all_wait = all_wait && peer.report.waiting != 0;
        if (r == me) continue;
        const bool silent = now - peer.heard > limit;
        if (!silent && now - peer.advanced <= limit) continue;
        end_job(static_cast<int>(ErrorKind::rank),
                fmt::format("rank {} is stuck{} for {:.1f} s in: {}\n{}", r,
                            silent ? " (no heartbeat)" : "",
                            static_cast<double>(now - (silent ? peer.heard : peer.advanced)) * 1e-9,
                            peer.report.phase.data(), table()));
    }
    if (!all_wait) {
        waiting_since = now;
    } else if (now - waiting_since > limit) {
        end_job(static_cast<int>(ErrorKind::rank),
                fmt::format("no rank has advanced for {:.1f} s: all wait for messages\n{}",
                            static_cast<double>(now - waiting_since) * 1e-9, table()));
    }
}

std::string Watchdog::State::table() const {
    std::string text;
    for (std::size_t r = 0; r < peers.size(); ++r) {
        text += fmt::format("{}  rank {}: {}", text.empty() ? "" : "\n", r,
                            peers[r].report.phase.data());
    }
    return text;
}

Watchdog::Watchdog(const Communicator& comm, const WatchdogOptions& options)
    : state_(std::make_unique<State>(comm, options)) {
    if (comm.size() == 1) return;
    state_->meet();
    state_->waiting_since = monotonic_ns();
    state_->thread = std::thread([this] { state_->watch(); });
}

Watchdog::~Watchdog() {
    State& s = *state_;
    if (!s.thread.joinable()) return;
    {
        const std::scoped_lock lock(s.mutex);
        if (s.own.state == RankState::running) s.own.state = RankState::finished;
    }
    s.publish();
    s.links->flush(time_to_leave);
    s.stopping.store(true, std::memory_order_release);
    const std::uint64_t one = 1;
    static_cast<void>(::write(s.wake, &one, sizeof(one)) == sizeof(one));
    s.thread.join();
    ::close(s.wake);
}

void Watchdog::announce_failure(int code, const std::string& reason) {
    State& s = *state_;
    if (!s.thread.joinable()) return;
    {
        const std::scoped_lock lock(s.mutex);
        s.own = report_phases();
        s.own.state = RankState::failed;
        s.own.code = code;
        set_text(s.own.reason, reason);
    }
    s.publish();
    s.links->flush(time_to_leave);
}

bool Watchdog::peer_missing() const {
    return state_->missing.load(std::memory_order_relaxed);
}

}  // namespace rudder::comm
