// Replies over the wire that hold no action, each with a part of the problem that is told.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fake_server.hpp"

namespace rudder::test {

/// How often what may do better in a moment is asked for.
inline constexpr std::size_t most_tries = 4;

struct BadReply {
    std::string name;
    FakeReply reply;
    std::string problem;
    std::string options{};  ///< of the agent
    std::size_t times = 1;  ///< it is asked for, before there is no answer
};

/// What goes wrong on the way, whatever the protocol.
[[nodiscard]] std::vector<BadReply> bad_transports();
/// Envelopes of either protocol that hold no reply of the model.
[[nodiscard]] std::vector<BadReply> bad_openai();
[[nodiscard]] std::vector<BadReply> bad_ollama();

}  // namespace rudder::test
