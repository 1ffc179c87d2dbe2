// The communicator: ranks that exchange typed spans. A value; copies speak for the same rank.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "rudder/comm/channels.hpp"
#include "rudder/comm/transport.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/check.hpp"

namespace rudder::comm {

/// One element per rank of the communicator, of uneven lengths.
template <class T>
using PerRank = std::vector<std::vector<T>>;

/// A group of ranks. All collectives must be called by all of its ranks in the same order.
class Communicator {
public:
    /// All ranks of a transport.
    explicit Communicator(std::shared_ptr<Transport> transport);
    /// One rank that talks to itself.
    [[nodiscard]] static Communicator local();

    [[nodiscard]] int rank() const noexcept { return rank_; }
    [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks_->size()); }
    /// The ranks of this rank's host, as a communicator.
    [[nodiscard]] Communicator host() const;
    /// The same ranks on lines of their own: what is sent, and what collectives are called, on one
    /// never meets the other, so that two tasks may each have their order. No message is sent, but
    /// all ranks must make their duplicates in the same order; at most 15 of one communicator.
    /// `share` is the exception: all calls of it, on whichever, must come in one order.
    [[nodiscard]] Communicator duplicate() const;
    [[nodiscard]] const HostMap& hosts() const noexcept { return transport_->hosts(); }
    /// The number that rank `r` of this communicator has among all.
    [[nodiscard]] int global_rank(int r) const { return (*ranks_)[static_cast<std::size_t>(r)]; }
    /// The reverse: the number that a rank among all has here; it must be one of this group.
    [[nodiscard]] int group_rank(int global) const;

    // ---- point to point ----

    /// Sends elements that must stay in place until the request is done.
    template <class T>
    Request send(int to, Channel channel, Kind kind, std::span<const T> values) const {
        static_assert(std::is_trivially_copyable_v<T>);
        return Request(
            transport_->send(global_rank(to), tag(channel), kind, std::as_bytes(values)));
    }
    /// Sends bytes that the request keeps.
    Request send_owned(int to, Channel channel, Kind kind, std::vector<std::byte> bytes) const {
        return Request(
            transport_->send_owned(global_rank(to), tag(channel), kind, std::move(bytes)));
    }
    /// Receives exactly as many elements as `into` has. Give the sender's kind where it is known:
    /// the message then needs no detour.
    template <class T>
    Request receive(int from, Channel channel, std::span<T> into,
                    std::optional<Kind> kind = std::nullopt) const {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>);
        return Request(transport_->receive(global_rank(from), tag(channel),
                                           std::as_writable_bytes(into), kind));
    }
    /// Receives a message of any size from a rank of this communicator, or from whoever sends first
    /// (its `source` is then a global rank).
    Request receive_message(int from, Channel channel) const {
        return Request(transport_->receive_message(
            from == any_source ? any_source : global_rank(from), tag(channel)));
    }

    // ---- collectives ----

    void barrier() const;
    /// Root's values come to all; `values` has the same size everywhere.
    template <class T>
    void broadcast(int root, std::span<T> values, Kind kind = Kind::control) const {
        broadcast_bytes(root, std::as_writable_bytes(values), kind);
    }
    /// Everyone's values, at the root; empty elsewhere.
    template <class T>
    [[nodiscard]] PerRank<T> gather(int root, std::span<const T> values,
                                    Kind kind = Kind::control) const {
        return typed<T>(gather_bytes(root, std::as_bytes(values), kind));
    }
    /// Everyone's values, everywhere.
    template <class T>
    [[nodiscard]] PerRank<T> all_gather(std::span<const T> values,
                                        Kind kind = Kind::control) const {
        return typed<T>(all_gather_bytes(std::as_bytes(values), kind));
    }
    /// Sends out[r] to rank r and returns what each rank sent here.
    template <class T>
    [[nodiscard]] PerRank<T> all_to_all(const PerRank<T>& out, Kind kind = Kind::control) const {
        RUDDER_CHECK(out.size() == ranks_->size());
        std::vector<std::span<const std::byte>> spans;
        for (const auto& values : out)
            spans.push_back(std::as_bytes(std::span(values)));
        return typed<T>(all_to_all_bytes(spans, kind));
    }
    /// The same where all know what comes: into[r] takes what rank r sends, without a copy between.
    template <class T>
    void all_to_all(std::span<const std::span<const T>> out, std::span<const std::span<T>> into,
                    Kind kind = Kind::control) const {
        std::vector<std::span<const std::byte>> from;
        std::vector<std::span<std::byte>> to;
        for (const auto& values : out)
            from.push_back(std::as_bytes(values));
        for (const auto& values : into)
            to.push_back(std::as_writable_bytes(values));
        exchange_bytes(from, to, kind);
    }
    /// The least or greatest of everyone's whole number.
    [[nodiscard]] std::int64_t all_min(std::int64_t value) const;
    [[nodiscard]] std::int64_t all_max(std::int64_t value) const;

    /// Memory shared by the ranks of this host: `count` elements, zero at first; collective over
    /// the host. The view lives as long as the pointer.
    template <class T>
    [[nodiscard]] std::shared_ptr<std::span<T>> share(std::size_t count) const {
        auto bytes = share_bytes(checked_mul(count, sizeof(T), "size of a shared window"));
        auto view = std::make_shared<SharedView<T>>();
        view->span = {reinterpret_cast<T*>(bytes->data()), count};
        view->bytes = std::move(bytes);
        return {view, &view->span};
    }

    /// Compares, before each collective, what all ranks are about to do; an Error names the ranks
    /// that differ. Costs a message to everyone; on in tests and with --paranoid.
    void set_paranoid(bool on) const noexcept { *paranoid_ = on; }

    [[nodiscard]] AccountTotals accounts() const { return transport_->accounts().totals(); }
    [[nodiscard]] Transport& transport() const noexcept { return *transport_; }

private:
    friend class OrderedReducer;
    template <class T>
    struct SharedView {
        std::span<T> span;
        std::shared_ptr<std::span<std::byte>> bytes;
    };

    Communicator() = default;
    [[nodiscard]] Tag tag(Channel channel) const {
        RUDDER_CHECK_NORMAL(channel < channel_limit);
        return context_ * channel_limit + channel;
    }
    template <class T>
    [[nodiscard]] static PerRank<T> typed(const std::vector<std::vector<std::byte>>& bytes) {
        PerRank<T> values(bytes.size());
        for (std::size_t r = 0; r < bytes.size(); ++r) {
            RUDDER_CHECK(bytes[r].size() % sizeof(T) == 0);
            values[r].resize(bytes[r].size() / sizeof(T));
            if (!bytes[r].empty()) std::memcpy(values[r].data(), bytes[r].data(), bytes[r].size());
        }
        return values;
    }

    void broadcast_bytes(int root, std::span<std::byte> bytes, Kind kind) const;
    [[nodiscard]] std::vector<std::vector<std::byte>> gather_bytes(int root,
                                                                   std::span<const std::byte> bytes,
                                                                   Kind kind) const;
    [[nodiscard]] std::vector<std::vector<std::byte>> all_gather_bytes(
        std::span<const std::byte> bytes, Kind kind) const;
    [[nodiscard]] std::vector<std::vector<std::byte>> all_to_all_bytes(
        std::span<const std::span<const std::byte>> out, Kind kind) const;
    void exchange_bytes(std::span<const std::span<const std::byte>> out,
                        std::span<const std::span<std::byte>> into, Kind kind) const;
    [[nodiscard]] std::shared_ptr<std::span<std::byte>> share_bytes(std::size_t bytes) const;
    /// The check of `set_paranoid`.
    void agree(const char* operation, int root, std::uint64_t bytes) const;

    std::shared_ptr<Transport> transport_;
    std::shared_ptr<const std::vector<int>> ranks_;  ///< global ranks of the group
    int rank_ = 0;
    std::uint32_t context_ = 0;  ///< keeps groups apart: even for all ranks, odd for a host's
    std::shared_ptr<bool> paranoid_ = std::make_shared<bool>(false);
    std::shared_ptr<std::uint64_t> windows_ = std::make_shared<std::uint64_t>(0);
    std::shared_ptr<std::uint32_t> reductions_ = std::make_shared<std::uint32_t>(0);
    std::shared_ptr<std::uint32_t> duplicates_ = std::make_shared<std::uint32_t>(0);
};

}  // namespace rudder::comm
