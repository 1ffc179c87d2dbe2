// Those who stand at a door: each is listened to until it has said who it is, or its time is up.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace rudder::comm {

/// Who connects to a socket that listens and says `bytes` bytes is shown to `know`, which takes the
/// connection and returns true, or sends the guest away. Who says nothing delays nobody.
class DoorGuests {
public:
    using Know = std::function<bool(int fd, std::span<const std::byte> said)>;

    DoorGuests(int listener, std::size_t bytes, Know know)
        : listener_(listener), bytes_(bytes), know_(std::move(know)) {}
    ~DoorGuests();
    DoorGuests(DoorGuests&&) = delete;

    /// Sees to who comes until `done` holds, or so long; whether it does.
    bool attend_until(const std::function<bool()>& done, std::chrono::milliseconds limit);

private:
    using Clock = std::chrono::steady_clock;
    struct Guest {
        int fd;
        Clock::time_point until;
        std::vector<std::byte> said{};
    };

    void attend(std::chrono::milliseconds longest);
    void let_come(Clock::time_point now);
    bool listen_to(Guest& guest);

    int listener_;
    std::size_t bytes_;
    Know know_;
    std::vector<Guest> guests_;
};

}  // namespace rudder::comm
