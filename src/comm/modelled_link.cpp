#include "modelled_link.hpp"

#include <algorithm>

#include "rudder/core/check.hpp"

namespace rudder::comm {

LinkStamp ModelledLink::stamp(int from, Kind kind, std::size_t bytes, Duration now) const {
    return clock_of_(from).send(link_class(kind, bytes), now, model_.transfer(bytes));
}

Inbox::Ticket ModelledLink::expect(int source, Tag tag, Kind kind, std::size_t bytes,
                                   const LinkStamp& stamp) {
    Line& line = lines_[{source, tag}];
    // Behind one that has not been announced yet it would take that one's place.
    const bool may_claim = line.empty() || line.back().announced;
    Inbox::Ticket ticket = may_claim ? inbox_.claim(source, tag, kind, bytes) : nullptr;
    const bool announced = ticket != nullptr;
    if (!announced) ticket = Inbox::set_aside(source, tag, kind, bytes);
    const LinkClass which = link_class(kind, bytes);
    line.push_back({ticket, stamp, which, which != LinkClass::first, announced});
    return ticket;
}

void ModelledLink::landed(const Inbox::Ticket& ticket) {
    Line& line = lines_[{ticket->source, ticket->tag}];
    const auto held = std::ranges::find(line, ticket, &Held::ticket);
    RUDDER_CHECK(held != line.end());
    held->landed = true;
    if (held == line.begin()) enqueue(line);
    note_next();
}

/// Its first message is here: it is due when it arrives, or to be looked at when it leaves.
void ModelledLink::enqueue(Line& line) {
    const Held& first = line.front();
    const Duration::rep on_its_way = first.leaving ? 0 : model_.delay.count();
    due_.push({first.stamp.left + on_its_way, next_order_++, &line});
}

void ModelledLink::release(Duration now, Calls& calls) {
    while (!due_.empty() && due_.top().when <= now.count()) {
        Line& line = *due_.top().line;
        due_.pop();
        Held& first = line.front();
        if (first.leaving) {
            first.leaving = clock_of_(first.ticket->source).passed(first.which, first.stamp);
            enqueue(line);
            continue;
        }
        // Announced under the lock, so that two threads cannot swap two messages of one sender.
        if (!first.announced) inbox_.announce(first.ticket);
        calls.emplace_back([this, ticket = std::move(first.ticket)] { inbox_.arrived(ticket); });
        line.pop_front();
        if (!line.empty() && line.front().landed) enqueue(line);
    }
    note_next();
}

void ModelledLink::note_next() {
    next_due_.store(due_.empty() ? Duration::max().count() : due_.top().when);
}

}  // namespace rudder::comm
