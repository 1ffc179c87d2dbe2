// The body of a communicator: moves bytes between ranks and lets tasks wait for them.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "rudder/comm/accounts.hpp"
#include "rudder/comm/hosts.hpp"
#include "rudder/comm/inbox.hpp"
#include "rudder/comm/request.hpp"

namespace rudder::comm {

/// One rank's side of the network. Point-to-point only: collectives and reductions are built on it,
/// the same for all bodies.
class Transport {
public:
    Transport(int rank, int size)
        : rank_(rank),
          size_(size),
          accounts_(static_cast<std::size_t>(size)),
          inbox_(rank, accounts_) {}
    virtual ~Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return size_; }
    [[nodiscard]] const HostMap& hosts() const noexcept { return hosts_; }
    [[nodiscard]] Accounts& accounts() noexcept { return accounts_; }
    /// How many bytes leave for another host before the first arrives there; 0: not known. The same
    /// on all ranks.
    [[nodiscard]] std::size_t bytes_under_way() const noexcept { return bytes_under_way_; }
    /// The rate of a modelled link to other hosts; 0: none is modelled. The same on all ranks.
    [[nodiscard]] double bytes_per_second() const noexcept { return bytes_per_second_; }

    /// Sends bytes, which must stay until the operation is done. Never waits.
    std::shared_ptr<Operation> send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes);
    /// The same with bytes that the operation keeps.
    std::shared_ptr<Operation> send_owned(int to, Tag tag, Kind kind, std::vector<std::byte> bytes);
    /// Receives a message of exactly `into`'s size. Where the receiver knows the message's kind, it
    /// may be received without a detour; the kind must then be the sender's.
    std::shared_ptr<Operation> receive(int from, Tag tag, std::span<std::byte> into,
                                       std::optional<Kind> kind = std::nullopt);
    /// Receives a message of any size, from one rank or from `any_source`.
    std::shared_ptr<Operation> receive_message(int from, Tag tag);
    /// The run begins a step: what of the modelled network is to change then, does.
    virtual void at_step(std::uint64_t /*step*/) {}
    /// Waits until the operation is done.
    virtual void wait(Operation& operation) = 0;
    /// Nothing is written any more to where a receive that is not done was to go; its message is
    /// taken and dropped when it comes.
    void withdraw(Operation& operation) {
        if (!inbox_.withdraw(operation)) do_withdraw(operation);
    }

    /// This rank cannot go on: one of its tasks that others depend on has failed. Ends by the
    /// handler, if there is one; otherwise all waits of this rank throw that error from now on. The
    /// first one counts.
    void fail(const std::exception_ptr& failure);
    /// What ends the rank then; must not return. Called by the task that failed.
    void set_failure_handler(std::function<void(const std::exception_ptr&)> handler) {
        const std::scoped_lock lock(failure_mutex_);
        failure_handler_ = std::move(handler);
    }
    [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
    /// Rethrows what `fail` was given, if anything.
    void check_failure() const;
    /// Called when an operation ends: wakes who waits.
    virtual void completed() {}
    /// Memory that the ranks of this rank's host share; collective over them. `key` numbers the
    /// windows, in the same order on all ranks of the host.
    [[nodiscard]] virtual std::shared_ptr<std::span<std::byte>> share(std::size_t bytes,
                                                                      std::uint64_t key) = 0;

protected:
    virtual void do_send(int to, Tag tag, Kind kind, std::span<const std::byte> bytes,
                         std::shared_ptr<Operation> operation) = 0;
    /// Takes over a receive whose source, size and kind are known; false leaves it to the inbox.
    virtual bool do_receive(int /*from*/, Tag /*tag*/, Kind /*kind*/, std::span<std::byte> /*into*/,
                            const std::shared_ptr<Operation>& /*operation*/) {
        return false;
    }
    /// Likewise of a receive that the body has taken over, or that has its message under way.
    virtual void do_withdraw(Operation& /*operation*/) {}
    /// Ends the waits of this rank with a failure, where `completed` alone does not.
    virtual void do_fail(const std::exception_ptr& /*failure*/) {}
    [[nodiscard]] Inbox& inbox() noexcept { return inbox_; }
    void set_hosts(HostMap hosts) { hosts_ = std::move(hosts); }
    void set_link_figures(std::size_t under_way, double bytes_per_second) noexcept {
        bytes_under_way_ = under_way;
        bytes_per_second_ = bytes_per_second;
    }

private:
    int rank_;
    int size_;
    std::size_t bytes_under_way_ = 0;
    double bytes_per_second_ = 0;
    HostMap hosts_;
    Accounts accounts_;
    Inbox inbox_;
    std::function<void(const std::exception_ptr&)> failure_handler_;
    std::mutex failure_mutex_;
    std::exception_ptr failure_;  ///< written before `failed_`, once
    std::atomic<bool> failed_{false};
};

}  // namespace rudder::comm
