#include "fabric.hpp"

#include <algorithm>

namespace rudder::train {

Fabric::Fabric(const ClusterModel& cluster, EventQueue& events)
    : network_(cluster.network),
      hosts_(cluster.hosts()),
      events_(events),
      out_(index(hosts_)),
      in_(index(hosts_)),
      coming_(index(hosts_), 0) {}

Duration Fabric::transfer(std::uint64_t bytes) const {
    return network_.link.transfer(bytes);
}

/// Where all links together carry more than the core does, what has left waits there.
Duration Fabric::through_core(comm::LinkClass which, Duration left, std::uint64_t bytes) {
    if (network_.oversubscription <= 1 || network_.link.bytes_per_second <= 0) return left;
    const double rate = network_.link.bytes_per_second * hosts_ / network_.oversubscription;
    const comm::LinkModel core{.delay = Duration{0}, .bytes_per_second = rate};
    const Duration takes = core.transfer(bytes);
    return std::max(left, Duration(core_.send(which, left - takes, takes).left));
}

std::uint32_t Fabric::send(int from, int to, comm::LinkClass which, std::uint64_t bytes,
                           const RowMessage& message) {
    const std::uint32_t number =
        flights_.put({.message = message, .from = from, .to = to, .bytes = bytes, .which = which});
    Flight& flight = flights_[number];
    const Duration now = events_.now();
    flight.near = from == to || !network_.link.active();
    if (flight.near) {
        events_.push(now, EventQueue::Kind::end, number);
        return number;
    }
    ++coming_[index(to)];
    flight.stamp = out_[index(from)].send(which, now, transfer(bytes));
    if (which == comm::LinkClass::first) {
        enter(flight, number);
    } else {
        events_.push(Duration(flight.stamp.left), EventQueue::Kind::leave, number);
    }
    return number;
}

void Fabric::leave(std::uint32_t number) {
    Flight& flight = flights_[number];
    if (out_[index(flight.from)].passed(flight.which, flight.stamp)) {
        events_.push(Duration(flight.stamp.left), EventQueue::Kind::leave, number);
    } else {
        enter(flight, number);
    }
}

/// From here on its stamp is of its receiver's end. Several that come at once hinder each other.
void Fabric::enter(Flight& flight, std::uint32_t number) {
    const Duration left = through_core(flight.which, Duration(flight.stamp.left), flight.bytes);
    Duration takes = transfer(flight.bytes);
    const Duration begins = left + network_.link.delay - takes;
    const std::uint32_t others =
        std::min(coming_[index(flight.to)] - 1, static_cast<std::uint32_t>(hosts_));
    if (network_.incast > 0) {
        takes = Duration(static_cast<Duration::rep>(static_cast<double>(takes.count()) *
                                                    (1 + network_.incast * others)));
    }
    flight.stamp = in_[index(flight.to)].send(flight.which, begins, takes);
    events_.push(Duration(flight.stamp.left), EventQueue::Kind::end, number);
}

bool Fabric::arrived(std::uint32_t number, RowMessage& message) {
    Flight& flight = flights_[number];
    if (!flight.near && in_[index(flight.to)].passed(flight.which, flight.stamp)) {
        events_.push(Duration(flight.stamp.left), EventQueue::Kind::end, number);
        return false;
    }
    if (!flight.near) --coming_[index(flight.to)];
    message = flights_.take(number).message;
    return true;
}

Duration Fabric::left_first(int from, Duration when, std::uint64_t bytes) {
    if (!network_.link.active() || bytes == 0) return when;
    const comm::LinkStamp stamp =
        out_[index(from)].send(comm::LinkClass::first, when, transfer(bytes));
    return through_core(comm::LinkClass::first, Duration(stamp.left), bytes);
}

Duration Fabric::come_first(int to, Duration left, std::uint64_t bytes) {
    if (!network_.link.active() || bytes == 0) return left;
    const Duration takes = transfer(bytes);
    return Duration(in_[index(to)]
                        .send(comm::LinkClass::first, left + network_.link.delay - takes, takes)
                        .left);
}

}  // namespace rudder::train
