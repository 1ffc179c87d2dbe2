#include "door_guests.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rudder::comm {

namespace {

/// For a guest to say who it is, and how many may be about to.
constexpr auto greeting_limit = std::chrono::seconds(2);
constexpr std::size_t most_guests = 256;
/// Now and then somebody's time is up.
constexpr auto look_round = std::chrono::milliseconds(200);

}  // namespace

DoorGuests::~DoorGuests() {
    for (const Guest& guest : guests_)
        ::close(guest.fd);
}

bool DoorGuests::attend_until(const std::function<bool()>& done, std::chrono::milliseconds limit) {
    const auto end = Clock::now() + limit;
    while (!done()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        if (left.count() <= 0) return false;
        attend(std::min<std::chrono::milliseconds>(left, look_round));
    }
    return true;
}

/// Waits for something to happen at the door, and sees to it.
void DoorGuests::attend(std::chrono::milliseconds longest) {
    std::vector<pollfd> polls{{listener_, POLLIN, 0}};
    for (const Guest& guest : guests_)
        polls.push_back({guest.fd, POLLIN, 0});
    ::poll(polls.data(), polls.size(), static_cast<int>(longest.count()));
    const auto now = Clock::now();
    std::vector<Guest> staying;
    for (std::size_t i = 0; i < guests_.size(); ++i) {
        const bool stays =
            polls[i + 1].revents == 0 ? now < guests_[i].until : listen_to(guests_[i]);
        if (stays) {
            staying.push_back(std::move(guests_[i]));
        } else if (guests_[i].fd >= 0) {
            ::close(guests_[i].fd);
        }
    }
    guests_ = std::move(staying);
    if ((polls[0].revents & POLLIN) != 0) let_come(now);
}

void DoorGuests::let_come(Clock::time_point now) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (guests_.size() == most_guests) {  // the one who has been silent for longest goes
        ::close(guests_.front().fd);
        guests_.erase(guests_.begin());
    }
    guests_.push_back({fd, now + greeting_limit});
}

/// Whether it has more to say. Its socket is taken where it is known.
bool DoorGuests::listen_to(Guest& guest) {
    const std::size_t before = guest.said.size();
    guest.said.resize(bytes_);
    const ssize_t got = ::recv(guest.fd, guest.said.data() + before, bytes_ - before, 0);
    guest.said.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    if (got == 0) return false;
    if (guest.said.size() < bytes_) return true;
    if (know_(guest.fd, guest.said)) guest.fd = -1;
    return false;
}

}  // namespace rudder::comm
