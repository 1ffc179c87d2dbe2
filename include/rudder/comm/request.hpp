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
#include <vector>

#include "rudder/comm/accounts.hpp"

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

    [[nodiscard]] Transport& transport() const noexcept { return transport_; }
    [[nodiscard]] const OperationName& name() const noexcept { return name_; }

    Message message;  ///< of a receive of unknown size

private:
    Transport& transport_;
    OperationName name_;
    std::atomic<bool> done_{false};
    std::mutex mutex_;
    std::exception_ptr failure_;
    std::vector<Ended> hanging_;
};

/// A handle of an operation. Dropping it does not cancel; the memory given to the operation must
/// live until it is done.
class [[nodiscard]] Request {
public:
    Request() = default;
    explicit Request(std::shared_ptr<Operation> operation) : operation_(std::move(operation)) {}

    /// Waits for the end and rethrows its error. A default-made request is done.
    void wait();
    [[nodiscard]] bool done() const { return operation_ == nullptr || operation_->done(); }
    void then(Operation::Ended f) const;
    /// The same for a receive of unknown size: also hands over the message.
    void then_message(
        std::function<void(const std::exception_ptr& failure, Message& message)> f) const;
    /// Waits, and takes the message of a receive of unknown size.
    [[nodiscard]] Message take();

private:
    std::shared_ptr<Operation> operation_;
};

/// Waits for all of them.
void wait_all(std::span<Request> requests);

}  // namespace rudder::comm
