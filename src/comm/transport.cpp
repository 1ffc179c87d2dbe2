#include "rudder/comm/transport.hpp"

#include <map>
#include <thread>

#include "rudder/core/check.hpp"

#include "local_transport.hpp"
#include "window.hpp"

namespace rudder::comm {

std::string_view to_string(Kind kind) noexcept {
    static constexpr std::array<std::string_view, kind_count + 2> names{
        "features",   "requests", "topology",       "gradients",
        "evaluation", "control",  "features ahead", "requests ahead"};
    return names[static_cast<std::size_t>(kind)];
}

void Accounts::sent(int peer, Kind kind, std::uint64_t bytes) noexcept {
    sent_[static_cast<std::size_t>(counted_as(kind))].fetch_add(bytes, std::memory_order_relaxed);
    sent_to_[static_cast<std::size_t>(peer)].fetch_add(bytes, std::memory_order_relaxed);
}

void Accounts::handed_over(int peer, Kind kind, std::uint64_t bytes) noexcept {
    // Whoever sees one of these counts also sees that counting has begun.
    begun_.fetch_add(1, std::memory_order_acq_rel);
    received_total_.fetch_add(bytes, std::memory_order_release);
    messages_.fetch_add(1, std::memory_order_release);
    received_[static_cast<std::size_t>(counted_as(kind))].fetch_add(bytes,
                                                                    std::memory_order_release);
    received_from_[static_cast<std::size_t>(peer)].fetch_add(bytes, std::memory_order_release);
    ended_.fetch_add(1, std::memory_order_release);
}

AccountTotals Accounts::totals() const {
    while (true) {
        const std::uint64_t ended = ended_.load(std::memory_order_acquire);
        AccountTotals totals = look();
        if (begun_.load(std::memory_order_acquire) == ended) return totals;
        std::this_thread::yield();  // to whoever is in the middle of a count
    }
}

AccountTotals Accounts::look() const {
    AccountTotals totals;
    for (std::size_t k = 0; k < kind_count; ++k) {
        totals.sent[k] = sent_[k].load(std::memory_order_relaxed);
        totals.received[k] = received_[k].load(std::memory_order_acquire);
        totals.sent_total += totals.sent[k];
    }
    totals.received_total = received_total_.load(std::memory_order_acquire);
    totals.messages = messages_.load(std::memory_order_acquire);
    for (std::size_t r = 0; r < sent_to_.size(); ++r) {
        totals.sent_to.push_back(sent_to_[r].load(std::memory_order_relaxed));
        totals.received_from.push_back(received_from_[r].load(std::memory_order_acquire));
    }
    return totals;
}

HostMap::HostMap(const std::vector<int>& label_of_rank) {
    std::map<int, int> host_of_label;
    for (std::size_t rank = 0; rank < label_of_rank.size(); ++rank) {
        const auto [found, fresh] =
            host_of_label.try_emplace(label_of_rank[rank], static_cast<int>(members_.size()));
        if (fresh) members_.emplace_back();
        host_.push_back(found->second);
        members_[static_cast<std::size_t>(found->second)].push_back(static_cast<int>(rank));
    }
}

HostMap HostMap::consecutive(int ranks, int per_host) {
    RUDDER_CHECK(per_host > 0);
    std::vector<int> labels;
    for (int rank = 0; rank < ranks; ++rank)
        labels.push_back(rank / per_host);
    return HostMap(labels);
}

std::shared_ptr<Operation> Transport::send(int to, Tag tag, Kind kind,
                                           std::span<const std::byte> bytes) {
    RUDDER_CHECK(to >= 0 && to < size_ && tag < tag_limit);
    auto operation = std::make_shared<Operation>(
        *this, OperationName{OperationName::Type::send, to, tag, bytes.size()});
    if (to == rank_) {
        inbox_.deliver(rank_, tag, kind, bytes);
        operation->complete();
        return operation;
    }
    accounts_.sent(to, kind, bytes.size());
    do_send(to, tag, kind, bytes, operation);
    return operation;
}

std::shared_ptr<Operation> Transport::send_owned(int to, Tag tag, Kind kind,
                                                 std::vector<std::byte> bytes) {
    auto kept = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    auto operation = send(to, tag, kind, *kept);
    operation->then([kept](const std::exception_ptr&) { /* held until the bytes have left */ });
    return operation;
}

std::shared_ptr<Operation> Transport::receive(int from, Tag tag, std::span<std::byte> into,
                                              std::optional<Kind> kind) {
    RUDDER_CHECK(from >= any_source && from < size_ && tag < tag_limit);
    auto operation = std::make_shared<Operation>(
        *this, OperationName{OperationName::Type::receive, from, tag, into.size()});
    const bool taken = kind && from != any_source && from != rank_ &&
                       do_receive(from, tag, *kind, into, operation);
    if (!taken) inbox_.post({from, tag, into, operation});
    return operation;
}

std::shared_ptr<Operation> Transport::receive_message(int from, Tag tag) {
    RUDDER_CHECK(from >= any_source && from < size_ && tag < tag_limit);
    auto operation = std::make_shared<Operation>(
        *this, OperationName{OperationName::Type::receive_message, from, tag, 0});
    inbox_.post({from, tag, std::nullopt, operation});
    return operation;
}

void Transport::fail(const std::exception_ptr& failure) {
    std::function<void(const std::exception_ptr&)> handler;
    {
        const std::scoped_lock lock(failure_mutex_);
        if (failed()) return;
        failure_ = failure;
        failed_.store(true, std::memory_order_release);
        handler = failure_handler_;
    }
    if (handler) handler(failure);
    do_fail(failure);
    completed();
}

void Transport::check_failure() const {
    if (failed()) std::rethrow_exception(failure_);
}

void LocalTransport::wait(Operation& operation) {
    const std::string what = operation.name().text();
    Monitor::Lock lock(monitor_);
    monitor_.wait(lock, what, [&] { return operation.done() || failed(); });
    if (!operation.done()) check_failure();
}

std::shared_ptr<std::span<std::byte>> LocalTransport::share(std::size_t bytes,
                                                            std::uint64_t /*key*/) {
    return private_window(bytes);
}

void LocalTransport::do_send(int /*to*/, Tag /*tag*/, Kind /*kind*/,
                             std::span<const std::byte> /*bytes*/,
                             std::shared_ptr<Operation> /*operation*/) {
    fail_check("a single rank has no peers", __FILE__, __LINE__);
}

}  // namespace rudder::comm
