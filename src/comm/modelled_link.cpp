#include "modelled_link.hpp"

#include <algorithm>
#include <cstring>

namespace rudder::comm {

namespace {

constexpr std::size_t stamp_bytes = sizeof(Duration::rep);

}  // namespace

ModelledLink::Bytes ModelledLink::copy(std::span<const std::byte> bytes) {
    auto stamped = std::make_shared<std::vector<std::byte>>();
    stamped->reserve(stamp_bytes + bytes.size());
    stamped->resize(stamp_bytes);
    stamped->insert(stamped->end(), bytes.begin(), bytes.end());
    return stamped;
}

void ModelledLink::stamp(std::vector<std::byte>& stamped, Duration now) const {
    const Duration::rep transfer = model_.transfer(stamped.size() - stamp_bytes).count();
    const std::atomic_ref<Duration::rep> link(*reinterpret_cast<Duration::rep*>(free_->data()));
    Duration::rep free = link.load(std::memory_order_relaxed);
    Duration::rep left = 0;
    do {
        left = std::max(free, now.count()) + transfer;
    } while (!link.compare_exchange_weak(free, left, std::memory_order_relaxed));
    const Duration::rep due = left + model_.delay.count();
    std::memcpy(stamped.data(), &due, stamp_bytes);
}

void ModelledLink::hold(int source, Tag tag, Kind kind, Bytes stamped) {
    Duration::rep due = 0;
    std::memcpy(&due, stamped->data(), stamp_bytes);
    held_.push({Duration(due), next_order_++, source, tag, kind, std::move(stamped)});
    next_due_.store(held_.top().due.count());
}

void ModelledLink::release(Calls& calls) {
    while (!held_.empty() && held_.top().due <= machine_now()) {
        const Held& held = held_.top();
        // Announced under the lock, so that two threads cannot swap two messages of one sender.
        Inbox::Ticket ticket =
            inbox_.announce(held.source, held.tag, held.kind, held.bytes->size() - stamp_bytes);
        calls.emplace_back([this, ticket = std::move(ticket), stamped = held.bytes] {
            if (!ticket->bytes.empty()) {
                std::memcpy(ticket->bytes.data(), stamped->data() + stamp_bytes,
                            ticket->bytes.size());
            }
            inbox_.arrived(ticket);
        });
        held_.pop();
    }
    next_due_.store(held_.empty() ? Duration::max().count() : held_.top().due.count());
}

}  // namespace rudder::comm
