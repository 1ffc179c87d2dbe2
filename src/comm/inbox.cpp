#include "rudder/comm/inbox.hpp"

#include <algorithm>
#include <cstring>

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
        unclaimed_.erase(found);
    }
    if (ready != nullptr) finish(*ready);
}

Inbox::Ticket Inbox::announce(int source, Tag tag, Kind kind, std::size_t bytes) {
    auto ticket = std::make_shared<Arrival>();
    ticket->source = source;
    ticket->tag = tag;
    ticket->kind = kind;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = std::ranges::find_if(
            posted_, [&](const PostedReceive& receive) { return matches(receive, source, tag); });
        if (found == posted_.end()) {
            unclaimed_.push_back(ticket);
        } else {
            ticket->receive = std::move(*found);
            posted_.erase(found);
        }
        if (ticket->receive && ticket->receive->into && ticket->receive->into->size() == bytes) {
            ticket->bytes = *ticket->receive->into;
        } else {
            ticket->own.resize(bytes);
            ticket->bytes = ticket->own;
        }
    }
    return ticket;
}

void Inbox::arrived(const Ticket& ticket) {
    if (ticket->source != rank_) {
        accounts_.handed_over(ticket->source, ticket->kind, ticket->bytes.size());
    }
    {
        const std::scoped_lock lock(mutex_);
        ticket->ready = true;
        if (!ticket->receive) return;
    }
    finish(*ticket);
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
    operation.complete(bytes == expected ? nullptr
                                         : wrong_size(source, tag, kind, bytes, expected));
}

}  // namespace rudder::comm
