#include "socket_transport.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

#include <fmt/format.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/executor/task_state.hpp"
#include "core/system.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "machine_board.hpp"
#include "machine_ranks.hpp"
#include "meeting.hpp"
#include "socket_stream.hpp"
#include "waiting_room.hpp"
#include "window.hpp"

namespace rudder::comm {

namespace {

using namespace std::chrono_literals;

/// How long a wait looks for messages itself before it sleeps, where cores are to spare.
constexpr auto awake_at_first = 100us;
/// The thread looks up at least so often.
constexpr auto longest_sleep = 100ms;
/// The watchdog knows more about a rank that is gone, and needs a moment to find out.
constexpr auto patience_with_lost = 1s;
/// At the end: for what has been sent to leave, and for the others to leave, too.
constexpr auto patience_flushing = 5s;
constexpr auto patience_leaving = 2s;

constexpr std::size_t events_per_look = 32;

timespec as_timespec(Duration duration) {
    const auto ns = std::max<Duration::rep>(duration.count(), 0);
    constexpr Duration::rep per_second = 1'000'000'000;
    return {ns / per_second, ns % per_second};
}

class SocketTransport final : public Transport, private FrameSink {
public:
    SocketTransport(const SocketOptions& options, const Meeting& meeting)
        : Transport(options.job.rank, options.job.size),
          link_changes_(options.link_changes),
          job_(meeting.job),
          poll_(::epoll_create1(EPOLL_CLOEXEC)),
          bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          due_{[this] { return next_due(); }, [this] { look(Duration::zero()); }} {
        if (poll_ < 0 || bell_ < 0) throw system_error("cannot watch sockets", "epoll", errno);
        const std::vector<int> machines = meeting.machines();
        if (options.link) refuse_link_between(machines, meeting.machine_names());
        const bool alone = options.ranks_per_host == 0 && options.link;
        set_hosts(group_hosts(machines, alone ? 1 : options.ranks_per_host));
        ranks_here_ = static_cast<int>(
            std::ranges::count(machines, machines[static_cast<std::size_t>(rank())]));
        open_streams(meeting.sockets);
        watch(bell_, EPOLLIN, no_peer);
        thread_ = std::thread([this] { look_after(); });
        try {
            if (options.link) model_link(*options.link, machines);
        } catch (...) {
            stop();
            throw;
        }
    }
    ~SocketTransport() override;

    void at_step(std::uint64_t step) override {
        const LinkModel* model = has_link_ ? link_changes_.due(step) : nullptr;
        if (model == nullptr) return;
        const std::scoped_lock lock(link_mutex_);
        link_->set_model(*model);
    }
    void wait(Operation& operation) override;
    void completed() override { room_.completed(); }
    [[nodiscard]] std::shared_ptr<std::span<std::byte>> share(std::size_t bytes,
                                                              std::uint64_t key) override {
        return share_on_host(*this, job_, bytes, key);
    }

protected:
    void do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                 std::shared_ptr<Operation> operation) override;
    void do_withdraw(Operation& operation) override {
        for (const auto& stream : streams_) {
            if (stream != nullptr) stream->withdraw(operation);
        }
    }
    void do_fail(const std::exception_ptr& failure) override { room_.fail(failure); }

private:
    static constexpr int no_peer = -1;

    Inbox::Ticket begin(int source, const FrameHead& head) override;
    void landed(int source, const Inbox::Ticket& ticket, Calls& calls) override;

    void open_streams(const std::vector<int>& sockets);
    void model_link(const LinkModel& model, const std::vector<int>& machines);
    [[nodiscard]] bool linked(int peer) const { return has_link_ && !hosts().same(rank(), peer); }
    [[nodiscard]] Duration next_due() const noexcept {
        return has_link_ ? link_->next_due() : Duration::max();
    }
    void watch(int fd, std::uint32_t events, int peer);
    void set_watched(SocketStream& stream, bool writes);
    bool look(Duration longest);
    void make(const Calls& calls);
    bool attend(int peer, std::uint32_t events, Calls& calls);
    void note_end(int peer, SocketStream::Heard how);
    void wait_for(const Operation& operation);
    void look_after();
    void check_lost();
    void wake();
    void leave();
    void stop();

    LinkChanges link_changes_;
    std::uint64_t job_;
    int ranks_here_ = 1;
    std::vector<std::unique_ptr<SocketStream>> streams_;  ///< by rank; none to oneself
    int poll_;
    int bell_;
    std::mutex watch_mutex_;  ///< what is waited for at a socket follows what waits to leave

    std::mutex link_mutex_;
    std::optional<ModelledLink> link_;
    std::atomic<bool> has_link_{false};
    /// Whether the message that comes from a rank comes over the link, decided once: as it begins
    /// there may be none yet. Under the lock of that rank's stream.
    std::vector<char> by_link_ = std::vector<char>(static_cast<std::size_t>(size()));
    WaitingRoom room_;
    WaitingRoom::Link due_;

    /// How the connection to a rank ended, and when.
    struct Ended {
        std::atomic<bool> over{false};
        std::atomic<Duration::rep> lost_at{0};  ///< 0: it was not
    };
    std::vector<Ended> ended_ = std::vector<Ended>(static_cast<std::size_t>(size()));
    std::atomic<int> still_there_{0};  ///< ranks that have not left

    std::atomic<bool> scarce_{true};  ///< ranks of this machine share cores
    std::atomic<Duration::rep> sleeps_until_{0};
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

void SocketTransport::open_streams(const std::vector<int>& sockets) {
    for (int r = 0; r < size(); ++r) {
        const int fd = sockets[static_cast<std::size_t>(r)];
        streams_.push_back(fd < 0 ? nullptr : std::make_unique<SocketStream>(r, fd));
        if (fd >= 0) still_there_.fetch_add(1);
    }
    for (const auto& stream : streams_) {
        if (stream != nullptr) watch(stream->fd(), EPOLLIN, stream->peer());
    }
}

/// Ranks of a host send over one link, whose clock lies in memory that they share.
void SocketTransport::model_link(const LinkModel& model, const std::vector<int>& machines) {
    const int first = machines[static_cast<std::size_t>(rank())];
    const std::string name = window_name(job_, first, "board");
    const std::size_t bytes = MachineBoard::bytes_for(ranks_here_);
    // All ranks are on one machine, where there is a link.
    Communicator all(std::shared_ptr<Transport>(this, [](Transport*) {}));
    std::shared_ptr<std::span<std::byte>> memory;
    if (rank() == first) memory = create_shared_window(name, bytes);
    all.barrier();
    if (rank() != first) memory = open_shared_window(name, bytes);
    all.barrier();
    if (rank() == first) unlink_shared_window(name);
    const MachineBoard board(machines, rank(), std::move(memory));
    set_link_figures(model.bytes_under_way(), model.bytes_per_second);
    link_.emplace(model, inbox(), [this, board](int source) -> LinkClock& {
        return board.clock(hosts().members(hosts().host_of(source)).front());
    });
    has_link_.store(true);
    // Nobody sends over it before all have it.
    all.barrier();
}

// ---- sending -----------------------------------------------------------------------------------

void SocketTransport::do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                              std::shared_ptr<Operation> operation) {
    FrameHead head;
    head.bytes = bytes.size();
    head.tag = tag;
    head.kind = kind;
    SocketStream& stream = *streams_[static_cast<std::size_t>(to)];
    Calls calls;
    if (linked(to)) {
        // Stamps leave in the order in which they were made.
        const std::scoped_lock lock(link_mutex_);
        head.stamp = link_->stamp(rank(), kind, bytes.size(), machine_now());
        if (stream.send(head, bytes, std::move(operation), calls)) set_watched(stream, true);
    } else if (stream.send(head, bytes, std::move(operation), calls)) {
        set_watched(stream, true);
    }
    make(calls);
}

// ---- receiving ---------------------------------------------------------------------------------

Inbox::Ticket SocketTransport::begin(int source, const FrameHead& head) {
    char& by_link = by_link_[static_cast<std::size_t>(source)];
    by_link = static_cast<char>(linked(source));
    if (by_link == 0) return inbox().announce(source, head.tag, head.kind, head.bytes);
    const std::scoped_lock lock(link_mutex_);
    return link_->expect(source, head.tag, head.kind, head.bytes, head.stamp);
}

void SocketTransport::landed(int source, const Inbox::Ticket& ticket, Calls& calls) {
    if (by_link_[static_cast<std::size_t>(source)] == 0) {
        calls.emplace_back([this, ticket] { inbox().arrived(ticket); });
        return;
    }
    const std::scoped_lock lock(link_mutex_);
    link_->landed(ticket);
}

void SocketTransport::watch(int fd, std::uint32_t events, int peer) {
    epoll_event event{};
    event.events = events;
    event.data.fd = peer;
    if (::epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event) != 0)
        throw system_error("cannot watch a socket", "epoll_ctl", errno);
}

/// Whether the socket is watched for room to write; what it is asked for is what is so now.
void SocketTransport::set_watched(SocketStream& stream, bool writes) {
    const std::scoped_lock lock(watch_mutex_);
    const bool needed = writes || !stream.flushed();
    epoll_event event{};
    event.events = needed ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.fd = stream.peer();
    ::epoll_ctl(poll_, EPOLL_CTL_MOD, stream.fd(), &event);  // fails where the rank is gone
}

/// Looks once, waiting so long at most for something to come; whether anything has.
bool SocketTransport::look(Duration longest) {
    std::array<epoll_event, events_per_look> events;
    const timespec limit = as_timespec(longest);
    const int count =
        ::epoll_pwait2(poll_, events.data(), static_cast<int>(events.size()), &limit, nullptr);
    Calls calls;
    bool any = false;
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.fd == no_peer) {
            std::uint64_t rings = 0;
            static_cast<void>(::read(bell_, &rings, sizeof(rings)));
        } else if (attend(event.data.fd, event.events, calls)) {
            any = true;
        }
    }
    if (has_link_) {
        const std::scoped_lock lock(link_mutex_);
        link_->release(machine_now(), calls);
    }
    make(calls);
    // Another than the thread may have taken in what the thread is to hand over.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (next_due().count() < sleeps_until_.load()) wake();
    return any || !calls.empty();
}

/// What has come is handed over whatever else fails: nobody would be told of it again.
void SocketTransport::make(const Calls& calls) {
    std::exception_ptr failure;
    for (const auto& call : calls) {
        try {
            call();
        } catch (...) {
            if (failure == nullptr) failure = std::current_exception();
        }
    }
    if (failure == nullptr) return;
    room_.fail(failure);
    std::rethrow_exception(failure);
}

bool SocketTransport::attend(int peer, std::uint32_t events, Calls& calls) {
    SocketStream& stream = *streams_[static_cast<std::size_t>(peer)];
    if ((events & EPOLLOUT) != 0 && !stream.flush(calls)) set_watched(stream, false);
    if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return true;
    if (room_.failed()) return false;  // nothing new is received then
    const SocketStream::Heard heard = stream.receive(*this, calls);
    if (heard == SocketStream::Heard::left || heard == SocketStream::Heard::lost)
        note_end(peer, heard);
    return true;
}

void SocketTransport::note_end(int peer, SocketStream::Heard how) {
    Ended& ended = ended_[static_cast<std::size_t>(peer)];
    if (ended.over.exchange(true)) return;
    ::epoll_ctl(poll_, EPOLL_CTL_DEL, streams_[static_cast<std::size_t>(peer)]->fd(), nullptr);
    if (how == SocketStream::Heard::lost) ended.lost_at.store(machine_now().count());
    still_there_.fetch_sub(1);
}

// ---- waiting -----------------------------------------------------------------------------------

void SocketTransport::wait(Operation& operation) {
    if (const char* place = NoWaitScope::current()) throw WaitForbidden(place);
    if (operation.done()) return;
    try {
        wait_for(operation);
    } catch (...) {
        withdraw(operation);  // whoever posted it is about to free its memory
        throw;
    }
}

void SocketTransport::wait_for(const Operation& operation) {
    const TaskState& me = TaskState::current();
    const bool hurries = !me.patient() && !scarce_.load();
    if (hurries && !has_link_) {
        const Duration end = machine_now() + awake_at_first;
        while (!operation.done() && machine_now() < end) {
            if (me.cancelled()) throw Cancelled{};
            room_.check_failure();
            if (!look(Duration::zero())) ::sched_yield();
        }
    }
    if (!operation.done()) room_.sleep(operation, hurries && has_link_ ? &due_ : nullptr);
}

void SocketTransport::wake() {
    const std::uint64_t one = 1;
    static_cast<void>(::write(bell_, &one, sizeof(one)));
}

void SocketTransport::look_after() {
    const int cores = usable_cores();
    try {
        while (!stopping_.load() && !room_.failed()) {
            scarce_.store(ranks_here_ * thread_count() > cores);
            const Duration now = machine_now();
            const Duration until = std::min<Duration>(now + longest_sleep, next_due());
            sleeps_until_.store(until.count());
            std::atomic_thread_fence(std::memory_order_seq_cst);
            // What became due sooner before that was stored is seen here, and later ones ring.
            const Duration nap = std::min(until, next_due()) - now;
            look(std::max(nap, Duration::zero()));
            sleeps_until_.store(0);
            check_lost();
        }
    } catch (...) {
        room_.fail(std::current_exception());
    }
    if (room_.failed() && !room_.failed_by_signal()) fail(room_.failure());
}

void SocketTransport::check_lost() {
    for (int r = 0; r < size(); ++r) {
        const Duration::rep lost = ended_[static_cast<std::size_t>(r)].lost_at.load();
        if (lost == 0 || machine_now() - Duration(lost) < patience_with_lost) continue;
        throw Error(ErrorKind::rank, fmt::format("the connection to rank {} was lost", r), "",
                    "look at what that rank said last, and at the network between the machines");
    }
}

// ---- the end -----------------------------------------------------------------------------------

/// What has been sent leaves, and the others are told that nothing follows. A connection that is
/// closed with messages in it would take those on their way to the other end with it.
void SocketTransport::leave() {
    FrameHead last;
    last.last = 1;
    for (const auto& stream : streams_) {
        if (stream == nullptr) continue;
        Calls calls;  // it completes nothing
        if (stream->send(last, {}, nullptr, calls)) set_watched(*stream, true);
    }
    const auto wait_until = [this](auto&& done, Duration patience) {
        const Duration end = machine_now() + patience;
        while (!done() && !room_.failed() && machine_now() < end)
            std::this_thread::sleep_for(1ms);
    };
    wait_until(
        [this] {
            return std::ranges::all_of(streams_, [](const auto& stream) {
                return stream == nullptr || stream->flushed();
            });
        },
        patience_flushing);
    for (const auto& stream : streams_) {
        if (stream != nullptr) ::shutdown(stream->fd(), SHUT_WR);
    }
    wait_until([this] { return still_there_.load() == 0; }, patience_leaving);
}

/// The thread uses all the rest: it ends first, also where the constructor fails.
void SocketTransport::stop() {
    stopping_.store(true);
    wake();
    if (thread_.joinable()) thread_.join();
}

SocketTransport::~SocketTransport() {
    if (!room_.failed()) leave();
    stop();
    inbox().forget();
    ::close(poll_);
    ::close(bell_);
}

}  // namespace

std::shared_ptr<Transport> make_socket_transport(const SocketOptions& options) {
    return std::make_shared<SocketTransport>(options, meet(options.job, options.patience));
}

}  // namespace rudder::comm
