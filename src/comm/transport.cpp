#include "rudder/comm/transport.hpp"

#include "rudder/core/check.hpp"

namespace rudder::comm {

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

}  // namespace rudder::comm
