// An inbox by itself, with receives to post.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "comm/local_transport.hpp"
#include "rudder/comm/inbox.hpp"

namespace rudder::test {

class InboxFixture : public ::testing::Test {
protected:
    std::shared_ptr<comm::Operation> operation() {
        return std::make_shared<comm::Operation>(
            transport_, comm::OperationName{comm::OperationName::Type::receive_message, -1, 0, 0});
    }
    std::shared_ptr<comm::Operation> post(int source, comm::Tag tag) {
        auto made = operation();
        inbox_.post({source, tag, std::nullopt, made});
        return made;
    }
    std::shared_ptr<comm::Operation> post_into(int source, comm::Tag tag,
                                               std::span<std::byte> into) {
        auto made = operation();
        inbox_.post({source, tag, into, made});
        return made;
    }
    static std::string text(const comm::Operation& operation) {
        const auto chars = operation.message.as<char>();
        return {chars.begin(), chars.end()};
    }

    comm::LocalTransport transport_;
    comm::Accounts accounts_{4};
    comm::Inbox inbox_{0, accounts_};
};

}  // namespace rudder::test
