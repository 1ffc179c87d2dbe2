// The body of a communicator: moves bytes between ranks and lets tasks wait for them.
#pragma once

#include <memory>
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
    /// Waits until the operation is done.
    virtual void wait(Operation& operation) = 0;
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
};

}  // namespace rudder::comm
