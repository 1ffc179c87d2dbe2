// Connections between watchdogs: whole reports whatever the network does, and no strangers.
#include "comm/peer_links.hpp"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;
using comm::PeerLinks;
using comm::RankReport;
using comm::RankState;
using Heard = PeerLinks::Heard;

RankReport numbered_report(std::uint64_t number) {
    RankReport report;
    report.progress = number;
    comm::set_text(report.phase, "phase " + std::to_string(number));
    return report;
}

/// Two ends of one connection with little room in it.
struct TwoEnds {
    TwoEnds() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        const int room = 1;  // as little as the system allows
        ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
        near = ends[0];
        far = ends[1];
    }
    int near = -1;
    int far = -1;
};

/// The same over TCP in segments shorter than a report, of which it takes as many as there is room
/// for.
struct NarrowEnds {
    NarrowEnds() {
        const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const name = reinterpret_cast<sockaddr*>(&in);
        socklen_t size = sizeof(in);
        const int room = 1;
        const int segment = 88;
        ::setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
        ::setsockopt(listener, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
        EXPECT_EQ(::bind(listener, name, size), 0);
        EXPECT_EQ(::listen(listener, 1), 0);
        EXPECT_EQ(::getsockname(listener, name, &size), 0);
        near = ::socket(AF_INET, SOCK_STREAM, 0);
        ::setsockopt(near, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
        ::setsockopt(near, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
        EXPECT_EQ(::connect(near, name, size), 0);
        far = ::accept(listener, nullptr, nullptr);
        ::close(listener);
    }
    int near = -1;
    int far = -1;
};

TEST(PeerLinksBetweenWatchdogs, AFullConnectionDeliversWholeReportsAndTheLast) {
    const NarrowEnds ends;
    PeerLinks sender({ends.near});
    PeerLinks receiver({ends.far});
    // The other does not read for a while, and then in between.
    std::uint64_t sent = 0;
    std::uint64_t heard = 0;
    std::uint64_t gaps = 0;
    RankReport report;
    const auto listen = [&] {
        if (receiver.receive(0, report) != Heard::report) return;
        EXPECT_EQ(std::string(report.phase.data()), "phase " + std::to_string(report.progress));
        EXPECT_GT(report.progress, heard);
        gaps += report.progress - heard - 1;
        heard = report.progress;
    };
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 40; ++i)
            sender.send_all(numbered_report(++sent));
        listen();
    }
    RankReport last = numbered_report(++sent);
    last.state = RankState::failed;
    last.code = 3;
    sender.send_all(last);
    std::thread reader([&] {
        for (int i = 0; i < 10'000 && report.state != RankState::failed; ++i) {
            listen();
            std::this_thread::sleep_for(1ms);
        }
    });
    sender.flush(10s);
    reader.join();
    EXPECT_EQ(report.state, RankState::failed);
    EXPECT_EQ(report.progress, sent);
    EXPECT_GT(gaps, 0U) << "the connection was never full";
}

TEST(PeerLinksBetweenWatchdogs, NonsenseIsFoundOut) {
    const auto hear = [](const RankReport& sent, auto change) {
        const TwoEnds ends;
        PeerLinks receiver({ends.far});
        std::vector<char> frame = comm::report_frame(sent);
        change(frame);
        EXPECT_EQ(::send(ends.near, frame.data(), frame.size(), 0),
                  static_cast<ssize_t>(frame.size()));
        RankReport got;
        const Heard heard = receiver.receive(0, got);
        EXPECT_EQ(receiver.socket(0) < 0, heard == Heard::nonsense);
        ::close(ends.near);
        if (heard == Heard::report) {
            EXPECT_EQ(receiver.receive(0, got), Heard::closed);
        }
        return heard;
    };
    const auto same = [](auto&) {};
    EXPECT_EQ(hear(numbered_report(1), same), Heard::report);
    EXPECT_EQ(hear(numbered_report(1), [](auto& frame) { frame[0] ^= 1; }), Heard::nonsense);
    for (const auto bad : {&RankReport::code, &RankReport::waiting, &RankReport::relayed}) {
        for (const std::int32_t value : {-1, 256}) {
            RankReport report = numbered_report(1);
            report.*bad = value;
            EXPECT_EQ(hear(report, same), Heard::nonsense);
        }
    }
    for (const int state : {-1, 3}) {
        RankReport report = numbered_report(1);
        report.state = static_cast<RankState>(state);
        EXPECT_EQ(hear(report, same), Heard::nonsense);
    }
}

TEST(PeerLinksBetweenWatchdogs, TextHasAnEndAndNoControlCharacters) {
    RankReport report;
    report.phase.fill('x');
    report.reason.fill('\x1b');
    report.reason[2] = '\n';
    const auto read = comm::read_report(comm::report_frame(report));
    ASSERT_TRUE(read);
    EXPECT_EQ(std::strlen(read->phase.data()), read->phase.size() - 1);
    EXPECT_EQ(std::string(read->reason.data()).substr(0, 4), "??\n?");
    // Whatever bytes come: a report that can be printed, or none.
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        Draws draws(RandomStream({.purpose = Purpose::test, .seed = 4}), seed);
        std::vector<char> frame = comm::report_frame(report);
        for (std::uint64_t i = draws.below(20); i > 0; --i)
            frame[draws.below(frame.size())] = static_cast<char>(draws.below(256));
        const auto any = comm::read_report(frame);
        if (!any) continue;
        EXPECT_LT(std::strlen(any->reason.data()), any->reason.size());
        EXPECT_LE(static_cast<int>(any->state), 2);
    }
}

/// Any thread may send while another receives: for the thread sanitizer, and that no report goes
/// to a descriptor that is somebody else's by then.
TEST(PeerLinksBetweenWatchdogs, MaySendWhileTheConnectionCloses) {
    for (int round = 0; round < 200; ++round) {
        const TwoEnds ends;
        PeerLinks links({ends.near});
        std::thread sender([&] {
            for (int i = 0; i < 50; ++i)
                links.send_all(numbered_report(1));
        });
        ::close(ends.far);
        RankReport report;
        while (links.receive(0, report) != Heard::closed) {
        }
        std::array<int, 2> others{};
        ASSERT_EQ(::pipe(others.data()), 0);  // takes the number of the one that was closed
        sender.join();
        pollfd poll{others[0], POLLIN, 0};
        EXPECT_EQ(::poll(&poll, 1, 0), 0) << "a report in another's descriptor";
        ::close(others[0]);
        ::close(others[1]);
    }
}

/// Somebody who connects to the door over loopback, and what it says.
int stranger(const comm::PeerDoor& door, const std::string& words) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    in.sin_port = htons(door.address().port);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)), 0);
    if (!words.empty()) {
        EXPECT_GT(::send(fd, words.data(), words.size(), 0), 0);
    }
    return fd;
}

TEST(PeerDoors, LetInRanksOfTheJobAloneAndStrangersDelayNobody) {
    const comm::PeerDoor door;
    const comm::JobToken token = comm::draw_token();
    EXPECT_NE(token, comm::draw_token());
    std::vector<int> strangers;
    for (const char* words : {"", "", "x", "GET / HTTP/1.1\r\n\r\n and then some more bytes"})
        strangers.push_back(stranger(door, words));
    comm::JobToken guessed = token;
    guessed[1] ^= 1;
    strangers.push_back(comm::knock(door.address(), guessed, 1));
    strangers.push_back(comm::knock(door.address(), token, 0));  // too low
    strangers.push_back(comm::knock(door.address(), token, 7));  // too high
    strangers.push_back(comm::knock(door.address(), token, 2));  // nobody waits for it
    const int first = comm::knock(door.address(), token, 1);
    strangers.push_back(comm::knock(door.address(), token, 1));  // there already
    const int second = comm::knock(door.address(), token, 3);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<int> sockets = door.admit(token, 1, {true, true, false, true}, 10s);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
    ASSERT_EQ(sockets.size(), 4U);
    EXPECT_EQ(sockets[0], -1);
    EXPECT_EQ(sockets[2], -1);
    for (const auto& [ours, theirs] :
         {std::pair(sockets[1], first), std::pair(sockets[3], second)}) {
        ASSERT_GE(ours, 0);
        EXPECT_EQ(::send(ours, "y", 1, 0), 1);
        char got = 0;
        EXPECT_EQ(::recv(theirs, &got, 1, MSG_WAITALL), 1);
        ::close(ours);
        ::close(theirs);
    }
    for (const int fd : strangers) {
        char got = 0;
        pollfd poll{fd, POLLIN, 0};
        EXPECT_EQ(::poll(&poll, 1, 2000), 1) << "a stranger who is still let in";
        EXPECT_LE(::recv(fd, &got, 1, MSG_DONTWAIT), 0);
        ::close(fd);
    }
}

TEST(PeerDoors, GiveUpAfterTheLimit) {
    const comm::PeerDoor door;
    const int silent = stranger(door, "");
    const auto sockets = door.admit(comm::draw_token(), 1, {false, true}, 300ms);
    EXPECT_EQ(sockets, (std::vector<int>{-1, -1}));
    ::close(silent);
}

}  // namespace
}  // namespace rudder::test
