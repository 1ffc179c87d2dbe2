#include "rudder/comm/request.hpp"

#include <fmt/format.h>

#include "rudder/comm/transport.hpp"

namespace rudder::comm {

std::string OperationName::text() const {
    switch (type) {
        case Type::send:
            return fmt::format("its message of {} bytes to rank {} to leave", bytes, peer);
        case Type::receive:
            return fmt::format("a message of {} bytes from rank {} (tag {})", bytes, peer, tag);
        case Type::receive_message:
            if (peer < 0) return fmt::format("a message from any rank (tag {})", tag);
            return fmt::format("a message from rank {} (tag {})", peer, tag);
        case Type::reduction:
            return fmt::format("the reduction of {} bytes", bytes);
    }
    return {};
}

void Operation::complete(std::exception_ptr failure) {
    std::vector<Ended> calls;
    {
        const std::scoped_lock lock(mutex_);
        failure_ = std::move(failure);
        calls.swap(hanging_);
        done_.store(true, std::memory_order_release);
    }
    for (const auto& call : calls)
        call(failure_);
    transport_.completed();
}

void Operation::then(Ended f) {
    {
        const std::scoped_lock lock(mutex_);
        if (!done_.load(std::memory_order_relaxed)) {
            hanging_.push_back(std::move(f));
            return;
        }
    }
    f(failure_);
}

void Operation::check() const {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
}

void Operation::withdraw() {
    if (done() || orphaned_.load(std::memory_order_acquire)) return;
    if (withdrawal_) {
        withdrawal_();
    } else if (name_.type == OperationName::Type::receive) {
        transport_.withdraw(*this);
    }
}

void Operation::dropped() {
    if (handles_.fetch_sub(1, std::memory_order_acq_rel) != 1 || done()) return;
    {
        const std::scoped_lock lock(mutex_);
        if (!hanging_.empty()) return;
    }
    withdraw();
}

void Request::wait() {
    if (operation_ == nullptr) return;
    if (!operation_->done()) operation_->transport().wait(*operation_);
    operation_->check();
}

void Request::then(Operation::Ended f) const {
    if (operation_ == nullptr) {
        f(nullptr);
    } else {
        operation_->then(std::move(f));
    }
}

void Request::then_message(
    std::function<void(const std::exception_ptr& failure, Message& message)> f) const {
    // Whoever completes the operation holds it until all that hangs on it has been called.
    operation_->then([operation = operation_.get(), f = std::move(f)](
                         const std::exception_ptr& failure) { f(failure, operation->message); });
}

Message Request::take() {
    wait();
    return std::move(operation_->message);
}

void wait_all(std::span<Request> requests) {
    for (Request& request : requests)
        request.wait();
}

}  // namespace rudder::comm
