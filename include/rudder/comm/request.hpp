// A communication under way: what there is to wait for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rudder/comm/bytes.hpp"

namespace rudder::comm {

class Transport;

/// A received message whose size the receiver did not know.
struct Message {
    int source = -1;
    Kind kind = Kind::control;
    std::vector<std::byte> bytes;

    /// The payload as elements of T; its size must be a multiple of T's.
    template <class T>
    [[nodiscard]] std::span<const T> as() const {
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
};

/// What an operation is, in as many words as a report of a hang needs.
struct OperationName {
    enum class Type : std::uint8_t { send, receive, receive_message, reduction } type;
    int peer = -1;  ///< -1: any
    std::uint32_t tag = 0;
    std::size_t bytes = 0;

    /// "a message of 8 bytes from rank 3 (tag 0)".
    [[nodiscard]] std::string text() const;
};

/// The shared state of one operation. The transport completes it once, from whatever thread makes
/// progress; what hangs on it is called then, and may post but not wait.
class Operation {
public:
    using Ended = std::function<void(const std::exception_ptr& failure)>;

    Operation(Transport& transport, const OperationName& name)
        : transport_(transport), name_(name) {}

    [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
    /// Marks it done (with an error, if one is given) and calls what hangs on it.
    void complete(std::exception_ptr failure = nullptr);
    /// Calls `f` with the error it ended with (or null) when done; at once if it is already.
    void then(Ended f);
    /// Rethrows the error it ended with, if any.
    void check() const;
    /// Whoever gave it memory wants that back before it is done: nothing is written there any more
    /// once this returns. A message that was to come is taken all the same, and dropped, so that
    /// later ones keep their places. Does nothing to a send, or to what is done.
    void withdraw();
    /// What an operation that is made of others does then.
    void on_withdraw(std::function<void()> f) { withdrawal_ = std::move(f); }
    /// Its transport ends before it: it stays as it is.
    void orphan() noexcept { orphaned_.store(true, std::memory_order_release); }

    [[nodiscard]] Transport& transport() const noexcept { return transport_; }
    [[nodiscard]] const OperationName& name() const noexcept { return name_; }

    Message message;           ///< of a receive of unknown size
    std::size_t received = 0;  ///< bytes that came; 0 before the end, and of what did not receive
    CodedBytes decoded;        ///< of a message that may be coded: what it was counted as

private:
    friend class Request;
    void held() noexcept { handles_.fetch_add(1, std::memory_order_relaxed); }
    void dropped();

    Transport& transport_;
    OperationName name_;
    std::atomic<std::uint32_t> handles_{0};
    std::atomic<bool> done_{false};
    std::atomic<bool> orphaned_{false};
    std::function<void()> withdrawal_;
    std::mutex mutex_;
    std::exception_ptr failure_;
    std::vector<Ended> hanging_;
};

/// A handle of an operation; copies are handles of the same. The memory given to the operation must
/// live until it is done, or until the last handle is dropped: that withdraws it, unless something
/// hangs on it (`then`), which has to keep the memory alive.
class [[nodiscard]] Request {
public:
    Request() = default;
    explicit Request(std::shared_ptr<Operation> operation) : operation_(std::move(operation)) {
        if (operation_ != nullptr) operation_->held();
    }
    Request(const Request& other) : Request(other.operation_) {}
    Request(Request&& other) noexcept : operation_(std::exchange(other.operation_, nullptr)) {}
    Request& operator=(Request other) noexcept {
        operation_.swap(other.operation_);
        return *this;
    }
    ~Request() {
        if (operation_ != nullptr) operation_->dropped();
    }

    /// Waits for the end and rethrows its error. A default-made request is done.
    void wait();
    [[nodiscard]] bool done() const { return operation_ == nullptr || operation_->done(); }
    void then(Operation::Ended f) const;
    /// The same for a receive of unknown size: also hands over the message.
    void then_message(
        std::function<void(const std::exception_ptr& failure, Message& message)> f) const;
    /// How many bytes a receive that is done has brought.
    [[nodiscard]] std::size_t received() const {
        return operation_ == nullptr ? 0 : operation_->received;
    }
    /// The same as one message that may have been coded.
    [[nodiscard]] CodedBytes counted() const {
        if (operation_ == nullptr) return {};
        if (operation_->decoded.messages != 0) return operation_->decoded;
        return {1, 0, operation_->received, operation_->received};
    }
    /// Waits, and takes the message of a receive of unknown size.
    [[nodiscard]] Message take();
    [[nodiscard]] const std::shared_ptr<Operation>& operation() const noexcept {
        return operation_;
    }

private:
    std::shared_ptr<Operation> operation_;
};

/// Waits for all of them.
void wait_all(std::span<Request> requests);

}  // namespace rudder::comm
