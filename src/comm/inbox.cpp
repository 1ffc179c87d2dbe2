#include "rudder/comm/inbox.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::comm {

namespace {

bool matches(const PostedReceive& receive, int source, Tag tag) noexcept {
    return receive.tag == tag && (receive.source == any_source || receive.source == source);
}

std::exception_ptr wrong_size(int source, Tag tag, Kind kind, std::size_t bytes,
                              std::size_t expected) {
    return std::make_exception_ptr(
        Error(ErrorKind::rank,
              fmt::format("a message of {} bytes came where {} were expected", bytes, expected),
              fmt::format("from rank {}, kind {}, tag {}", source, to_string(kind), tag),
              "the ranks disagree about what they do; run with --paranoid"));
}

Inbox::Ticket envelope(int source, Tag tag, Kind kind) {
    auto ticket = std::make_shared<Inbox::Arrival>();
    ticket->source = source;
    ticket->tag = tag;
    ticket->kind = kind;
    return ticket;
}

/// Where its bytes go: to the place that its receive names, if it has the size, or to its own.
void make_place(Inbox::Arrival& arrival, std::size_t bytes) {
    if (arrival.receive && arrival.receive->into && arrival.receive->into->size() == bytes) {
        arrival.bytes = *arrival.receive->into;
    } else {
        arrival.own.resize(bytes);
        arrival.bytes = arrival.own;
    }
}

}  // namespace

void Inbox::post(PostedReceive receive) {
    Ticket ready;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = std::ranges::find_if(unclaimed_, [&](const Ticket& ticket) {
            return matches(receive, ticket->source, ticket->tag);
        });
        if (found == unclaimed_.end()) {
            posted_.push_back(std::move(receive));
            return;
        }
        (*found)->receive = std::move(receive);
        if ((*found)->ready) ready = *found;
        coming_.splice(coming_.end(), unclaimed_, found);
        if (ready != nullptr) coming_.pop_back();
    }
    if (ready != nullptr) finish(*ready);
}

Inbox::~Inbox() {
    forget();
}

std::list<Inbox::Ticket>::iterator Inbox::coming_for(const Operation& operation) {
    return std::ranges::find_if(coming_, [&](const Ticket& ticket) {
        return ticket->receive->operation.get() == &operation;
    });
}

bool Inbox::withdraw(const Operation& operation) {
    std::unique_lock lock(mutex_);
    const auto found = std::ranges::find_if(posted_, [&](const PostedReceive& receive) {
        return receive.operation.get() == &operation;
    });
    if (found != posted_.end()) {
        found->into.reset();
        return true;
    }
    const auto coming = coming_for(operation);
    if (coming == coming_.end()) return false;
    if (!(*coming)->ready) {
        (*coming)->receive->into.reset();
        return true;
    }
    // It is being handed over, which takes a copy.
    lock.unlock();
    while (!operation.done())
        std::this_thread::yield();
    return true;
}

void Inbox::forget() {
    Posted posted;  // both go when the lock has gone
    std::list<Ticket> unclaimed;
    std::list<Ticket> coming;
    const std::scoped_lock lock(mutex_);
    posted.swap(posted_);
    unclaimed.swap(unclaimed_);
    coming.swap(coming_);
    for (const PostedReceive& receive : posted)
        receive.operation->orphan();
    for (const Ticket& ticket : coming)
        ticket->receive->operation->orphan();
}

Inbox::Posted::iterator Inbox::first_match(int source, Tag tag) {
    return std::ranges::find_if(
        posted_, [&](const PostedReceive& receive) { return matches(receive, source, tag); });
}

void Inbox::match(const Ticket& ticket, Posted::iterator receive) {
    if (receive == posted_.end()) {
        unclaimed_.push_back(ticket);
        return;
    }
    ticket->receive = std::move(*receive);
    posted_.erase(receive);
}

Inbox::Ticket Inbox::announce(int source, Tag tag, Kind kind, std::size_t bytes) {
    auto ticket = envelope(source, tag, kind);
    const std::scoped_lock lock(mutex_);
    match(ticket, first_match(source, tag));
    make_place(*ticket, bytes);
    return ticket;
}

Inbox::Ticket Inbox::claim(int source, Tag tag, Kind kind, std::size_t bytes) {
    const std::scoped_lock lock(mutex_);
    const auto found = first_match(source, tag);
    if (found == posted_.end() || found->source != source) return nullptr;
    auto ticket = envelope(source, tag, kind);
    match(ticket, found);
    make_place(*ticket, bytes);
    return ticket;
}

Inbox::Ticket Inbox::set_aside(int source, Tag tag, Kind kind, std::size_t bytes) {
    auto ticket = envelope(source, tag, kind);
    make_place(*ticket, bytes);
    return ticket;
}

void Inbox::announce(const Ticket& ticket) {
    const std::scoped_lock lock(mutex_);
    match(ticket, first_match(ticket->source, ticket->tag));
}

void Inbox::arrived(const Ticket& ticket) {
    if (ticket->source != rank_) {
        accounts_.handed_over(ticket->source, ticket->kind, ticket->bytes.size());
    }
    bool listed = false;
    {
        const std::scoped_lock lock(mutex_);
        ticket->ready = true;
        if (!ticket->receive) return;
        listed = std::ranges::find(coming_, ticket) != coming_.end();
    }
    finish(*ticket);
    if (!listed) return;
    const std::scoped_lock lock(mutex_);
    coming_.remove(ticket);
}

void Inbox::deliver(int source, Tag tag, Kind kind, std::span<const std::byte> bytes) {
    const Ticket ticket = announce(source, tag, kind, bytes.size());
    if (!bytes.empty()) std::memcpy(ticket->bytes.data(), bytes.data(), bytes.size());
    arrived(ticket);
}

void Inbox::finish(Arrival& arrival) {
    const PostedReceive& receive = *arrival.receive;
    Operation& operation = *receive.operation;
    operation.message.source = arrival.source;
    operation.message.kind = arrival.kind;
    operation.received = arrival.bytes.size();
    if (!receive.into) {
        operation.message.bytes = std::move(arrival.own);
    } else if (receive.into->size() != arrival.bytes.size()) {
        operation.complete(wrong_size(arrival.source, arrival.tag, arrival.kind,
                                      arrival.bytes.size(), receive.into->size()));
        return;
    } else if (receive.into->data() != arrival.bytes.data() && !arrival.bytes.empty()) {
        std::memcpy(receive.into->data(), arrival.bytes.data(), arrival.bytes.size());
    }
    operation.complete();
}

bool Inbox::quiet(int source, Tag tag) {
    const std::scoped_lock lock(mutex_);
    return std::ranges::none_of(
               posted_,
               [&](const PostedReceive& receive) { return matches(receive, source, tag); }) &&
           std::ranges::none_of(unclaimed_, [&](const Ticket& ticket) {
               return ticket->source == source && ticket->tag == tag;
           });
}

void Inbox::direct(int source, Tag tag, Kind kind, std::size_t bytes, std::size_t expected,
                   Operation& operation) {
    accounts_.handed_over(source, kind, bytes);
    operation.message.source = source;
    operation.message.kind = kind;
    operation.received = bytes;
    operation.complete(bytes == expected ? nullptr
                                         : wrong_size(source, tag, kind, bytes, expected));
}

}  // namespace rudder::comm
