#include "meeting.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/interrupt.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/error.hpp"

#include "door_guests.hpp"

namespace rudder::comm {

namespace {

using MeetingClock = std::chrono::steady_clock;
using Deadline = MeetingClock::time_point;

constexpr std::uint64_t meeting_magic = 0x7264'6472'6d65'6574ULL;
constexpr auto connect_pause = std::chrono::milliseconds(50);
constexpr auto look_pause = std::chrono::milliseconds(100);

/// The first thing a rank says to rank 0.
struct CallingCard {
    std::uint64_t magic = meeting_magic;
    JobToken secret{};
    std::int64_t rank = 0;
    std::int64_t size = 0;
    RankCard card;
};
static_assert(std::is_trivially_copyable_v<CallingCard>);

/// What rank 0 answers: all cards follow, or why there will be no job.
struct MeetingReply {
    std::uint64_t magic = meeting_magic;
    std::uint64_t job = 0;
    JobToken token{};
    std::array<char, 256> refusal{};
};
static_assert(std::is_trivially_copyable_v<MeetingReply>);

JobToken digest_of(const std::string& secret) {
    const std::string more = secret + "\nrudder";
    return {hash_bytes(std::as_bytes(std::span(secret))),
            hash_bytes(std::as_bytes(std::span(more)))};
}

/// The same for processes that see the same shared memory over the same network.
std::uint64_t machine_label(std::string_view name) {
    std::string text(name);
    for (const char* file : {"/dev/shm", "/proc/self/ns/net", "/proc/self/ns/ipc"}) {
        struct stat found {};
        if (::stat(file, &found) == 0) text += fmt::format(" {} {}", found.st_dev, found.st_ino);
    }
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    std::string id;
    if (boot >> id) text += id;
    return hash_bytes(std::as_bytes(std::span(text)));
}

RankCard own_card(const PeerDoor& door) {
    RankCard card;
    card.address = door.address();
    ::gethostname(card.machine_name.data(), card.machine_name.size() - 1);
    card.machine = machine_label(card.machine_name.data());
    return card;
}

/// A job whose ranks meet at this machine's own address has no others.
Reach reach_of(const SocketJob& job) {
    const bool here = job.host == "localhost" || job.host.starts_with("127.");
    return here ? Reach::this_machine : Reach::everywhere;
}

std::string place_of(const SocketJob& job) {
    return fmt::format("{}:{}", job.host, job.port);
}

Error missing_error(const std::string& problem, const SocketJob& job) {
    return {ErrorKind::rank, problem, place_of(job),
            "look for ranks that did not start; check that all have the same MASTER_ADDR and can "
            "reach that port (RUDDER_PORT names another)"};
}

std::chrono::milliseconds left_until(Deadline deadline) {
    return std::max(
        std::chrono::milliseconds(0),
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - MeetingClock::now()));
}

/// Waits in short turns, so that a signal ends it; false when the time is over.
bool ready(int fd, short events, Deadline deadline) {
    while (true) {
        throw_if_interrupted();
        const auto nap = std::min<std::chrono::milliseconds>(left_until(deadline), look_pause);
        pollfd poll{fd, events, 0};
        if (::poll(&poll, 1, static_cast<int>(nap.count())) > 0) return true;
        if (left_until(deadline).count() == 0) return false;
    }
}

/// Whether all of it came (or went) in time.
template <class Move>
bool move_all(int fd, std::size_t bytes, short events, Deadline deadline, Move&& move) {
    std::size_t done = 0;
    while (done < bytes) {
        const ssize_t moved = move(done);
        if (moved > 0) {
            done += static_cast<std::size_t>(moved);
            continue;
        }
        const bool over = moved == 0 || (errno != EAGAIN && errno != EINTR);
        if (over || !ready(fd, events, deadline)) return false;
    }
    return true;
}

bool read_all(int fd, std::span<std::byte> bytes, Deadline deadline) {
    return move_all(fd, bytes.size(), POLLIN, deadline, [&](std::size_t at) {
        return ::recv(fd, bytes.data() + at, bytes.size() - at, MSG_DONTWAIT);
    });
}

bool write_all(int fd, std::span<const std::byte> bytes, Deadline deadline) {
    return move_all(fd, bytes.size(), POLLOUT, deadline, [&](std::size_t at) {
        return ::send(fd, bytes.data() + at, bytes.size() - at, MSG_DONTWAIT | MSG_NOSIGNAL);
    });
}

/// A descriptor that is closed at the end.
class Connection {
public:
    explicit Connection(int fd) : fd_(fd) {}
    ~Connection() {
        if (fd_ >= 0) ::close(fd_);
    }
    Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Connection& operator=(Connection&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    [[nodiscard]] int fd() const noexcept { return fd_; }

private:
    int fd_;
};

sockaddr generic(const sockaddr_in& in) {
    sockaddr address{};
    static_assert(sizeof(address) == sizeof(in));
    std::memcpy(&address, &in, sizeof(in));
    return address;
}

std::optional<sockaddr> resolve(const SocketJob& job) {
    addrinfo hints{};
    hints.ai_family = AF_INET;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(job.host.c_str(), nullptr, &hints, &found) != 0 || found == nullptr)
        return std::nullopt;
    sockaddr_in in{};
    std::memcpy(&in, found->ai_addr, sizeof(in));
    ::freeaddrinfo(found);
    in.sin_port = htons(job.port);
    return generic(in);
}

/// One try.
std::optional<Connection> call_on(const sockaddr& address, Deadline deadline) {
    Connection connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int code = ::connect(connection.fd(), &address, sizeof(address)) == 0 ? 0 : errno;
    if (code == EINPROGRESS && ready(connection.fd(), POLLOUT, deadline)) {
        socklen_t size = sizeof(code);
        ::getsockopt(connection.fd(), SOL_SOCKET, SO_ERROR, &code, &size);
    }
    if (code != 0) return std::nullopt;
    return connection;
}

/// Rank 0 may come later, and its name may be known later.
Connection call_on_first(const SocketJob& job, Deadline deadline) {
    bool known = false;
    while (left_until(deadline).count() > 0) {
        throw_if_interrupted();
        const auto address = resolve(job);
        known = known || address;
        const auto soon = std::min(deadline, MeetingClock::now() + std::chrono::seconds(2));
        if (address) {
            if (auto connection = call_on(*address, soon)) return std::move(*connection);
        }
        std::this_thread::sleep_for(connect_pause);
    }
    throw missing_error(known ? fmt::format("rank {} cannot reach rank 0", job.rank)
                              : fmt::format("unknown host: {}", job.host),
                        job);
}

/// The address at this end of a connection, or at the other.
std::uint32_t end_of(int fd, bool other) {
    sockaddr address{};
    socklen_t size = sizeof(address);
    const int code =
        other ? ::getpeername(fd, &address, &size) : ::getsockname(fd, &address, &size);
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof(in));
    return code == 0 ? in.sin_addr.s_addr : 0;
}

/// That is the address to try first.
void put_first(Address& address, std::uint32_t host) {
    if (host == 0) return;
    const auto found = std::ranges::find(address.hosts, host);
    const auto last = found == address.hosts.end() ? std::prev(found) : found;
    *last = host;
    std::rotate(address.hosts.begin(), last, std::next(last));
}

/// What all ranks know after the first part of the meeting.
struct Roster {
    std::uint64_t job = 0;
    JobToken token{};
    std::vector<RankCard> cards;
};

/// Rank 0's part: it lets in everybody who knows the secret, once.
class Reception {
public:
    Reception(const SocketJob& job, const RankCard& own)
        : job_(job), secret_(digest_of(job.secret)) {
        callers_.resize(static_cast<std::size_t>(job.size));
        roster_.cards.resize(callers_.size());
        roster_.cards.front() = own;
        roster_.token = draw_token();
        roster_.job = draw_token().front();
    }

    [[nodiscard]] Roster receive(Deadline deadline) {
        const Connection listener(job_.listener >= 0 ? job_.listener
                                                     : listen_on(job_.port, reach_of(job_)));
        DoorGuests guests(
            listener.fd(), sizeof(CallingCard),
            [this](int fd, std::span<const std::byte> said) { return know(fd, said); });
        const auto all_here = [this] {
            throw_if_interrupted();
            return present_ + 1 == job_.size || !refusal_.empty();
        };
        if (!guests.attend_until(all_here, left_until(deadline))) refusal_ = who_is_missing();
        answer(deadline);
        if (!refusal_.empty()) throw missing_error(refusal_, job_);
        return std::move(roster_);
    }

private:
    bool know(int fd, std::span<const std::byte> said) {
        CallingCard caller;
        std::memcpy(&caller, said.data(), sizeof(caller));
        if (caller.magic != meeting_magic || caller.secret != secret_) return false;
        if (caller.size != job_.size) {
            refusal_ = fmt::format("rank {} is one of {} ranks, rank 0 one of {}", caller.rank,
                                   caller.size, job_.size);
            return false;
        }
        if (caller.rank < 1 || caller.rank >= caller.size) return false;
        auto& place = callers_[static_cast<std::size_t>(caller.rank)];
        if (place) return false;
        place.emplace(fd);
        roster_.cards[static_cast<std::size_t>(caller.rank)] = caller.card;
        ++present_;
        return true;
    }
    [[nodiscard]] std::string who_is_missing() const {
        std::vector<int> missing;
        for (int r = 1; r < job_.size; ++r) {
            if (!callers_[static_cast<std::size_t>(r)]) missing.push_back(r);
        }
        constexpr std::size_t most_named = 16;
        const std::size_t others = missing.size() - std::min(missing.size(), most_named);
        missing.resize(missing.size() - others);
        return fmt::format("{} {}{} did not come", missing.size() == 1 ? "rank" : "ranks",
                           fmt::join(missing, ", "),
                           others == 0 ? "" : fmt::format(" and {} others", others));
    }
    void answer(Deadline deadline) {
        MeetingReply reply;
        reply.job = roster_.job;
        reply.token = roster_.token;
        const std::size_t length = std::min(refusal_.size(), reply.refusal.size() - 1);
        std::copy_n(refusal_.begin(), length, reply.refusal.begin());
        const auto until = std::max(deadline, MeetingClock::now() + std::chrono::seconds(2));
        for (const auto& caller : callers_) {
            if (!caller) continue;
            // One that is gone by now is noticed when the ranks connect.
            static_cast<void>(
                write_all(caller->fd(), std::as_bytes(std::span(&reply, 1)), until) &&
                write_all(caller->fd(), std::as_bytes(std::span(roster_.cards)), until));
        }
    }

    const SocketJob& job_;
    JobToken secret_;
    std::vector<std::optional<Connection>> callers_;
    Roster roster_;
    int present_ = 0;
    std::string refusal_;
};

/// The part of the others.
Roster call(const SocketJob& job, RankCard own, Deadline deadline) {
    const Connection first = call_on_first(job, deadline);
    put_first(own.address, end_of(first.fd(), false));
    CallingCard caller;
    caller.secret = digest_of(job.secret);
    caller.rank = job.rank;
    caller.size = job.size;
    caller.card = own;
    MeetingReply reply;
    Roster roster;
    roster.cards.resize(static_cast<std::size_t>(job.size));
    // Rank 0 tells who is missing when its time is over, which may have begun later.
    const auto until = deadline + std::chrono::seconds(5);
    const bool answered = write_all(first.fd(), std::as_bytes(std::span(&caller, 1)), until) &&
                          read_all(first.fd(), std::as_writable_bytes(std::span(&reply, 1)), until);
    if (!answered || reply.magic != meeting_magic) {
        throw missing_error(
            fmt::format("rank 0 did not let rank {} in: another process has that rank, or the "
                        "secret (RUDDER_JOB_SECRET) differs",
                        job.rank),
            job);
    }
    if (reply.refusal.front() != '\0') throw missing_error(reply.refusal.data(), job);
    if (!read_all(first.fd(), std::as_writable_bytes(std::span(roster.cards)), until))
        throw missing_error("rank 0 left while the ranks met", job);
    put_first(roster.cards.front().address, end_of(first.fd(), true));
    roster.job = reply.job;
    roster.token = reply.token;
    return roster;
}

/// A connection to every other rank: the higher rank connects to the lower one.
std::vector<int> connect_all(const SocketJob& job, const Roster& roster, const PeerDoor& door,
                             Deadline deadline) {
    std::vector<int> sockets(roster.cards.size(), -1);
    const auto refuse = [&](int rank) {
        for (const int fd : sockets) {
            if (fd >= 0) ::close(fd);
        }
        throw missing_error(fmt::format("ranks {} and {} cannot connect to each other",
                                        std::min(rank, job.rank), std::max(rank, job.rank)),
                            job);
    };
    for (int r = 0; r < job.rank; ++r) {
        const auto index = static_cast<std::size_t>(r);
        sockets[index] = knock(roster.cards[index].address, roster.token, job.rank);
        if (sockets[index] < 0) refuse(r);
    }
    const std::vector<bool> expected(roster.cards.size(), true);
    const auto came = door.admit(roster.token, job.rank + 1, expected,
                                 std::max(left_until(deadline), std::chrono::milliseconds(2000)));
    for (std::size_t r = static_cast<std::size_t>(job.rank) + 1; r < came.size(); ++r)
        sockets[r] = came[r];
    for (int r = job.rank + 1; r < job.size; ++r) {
        if (sockets[static_cast<std::size_t>(r)] < 0) refuse(r);
    }
    return sockets;
}

}  // namespace

int listen_on(std::uint16_t port, Reach reach) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(reach == Reach::everywhere ? INADDR_ANY : INADDR_LOOPBACK);
    in.sin_port = htons(port);
    const sockaddr address = generic(in);
    const int on = 1;
    if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (fd >= 0 && ::bind(fd, &address, sizeof(address)) == 0 && ::listen(fd, 1024) == 0) return fd;
    const int code = errno;
    if (fd >= 0) ::close(fd);
    throw Error(ErrorKind::failed,
                fmt::format("rank 0 cannot listen on port {}: {}", port, std::strerror(code)),
                "RUDDER_PORT", "set RUDDER_PORT to a port that is free there, on all ranks");
}

std::uint16_t port_of(int listener) {
    sockaddr address{};
    socklen_t size = sizeof(address);
    if (::getsockname(listener, &address, &size) != 0)
        throw system_error("cannot read the address of a socket", "getsockname", errno);
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof(in));
    return ntohs(in.sin_port);
}

std::vector<int> Meeting::machines() const {
    std::map<std::uint64_t, int> first;
    std::vector<int> labels;
    for (std::size_t r = 0; r < cards.size(); ++r)
        labels.push_back(first.try_emplace(cards[r].machine, static_cast<int>(r)).first->second);
    return labels;
}

std::vector<std::string> Meeting::machine_names() const {
    std::vector<std::string> names;
    for (const RankCard& card : cards) {
        names.emplace_back(card.machine_name.data(),
                           ::strnlen(card.machine_name.data(), card.machine_name.size()));
    }
    return names;
}

Meeting meet(const SocketJob& job, std::chrono::milliseconds patience) {
    const Deadline deadline = MeetingClock::now() + patience;
    const PeerDoor door(reach_of(job));
    const RankCard own = own_card(door);
    Roster roster =
        job.rank == 0 ? Reception(job, own).receive(deadline) : call(job, own, deadline);
    Meeting meeting;
    meeting.job = roster.job;
    meeting.sockets = connect_all(job, roster, door, deadline);
    meeting.cards = std::move(roster.cards);
    return meeting;
}

}  // namespace rudder::comm
