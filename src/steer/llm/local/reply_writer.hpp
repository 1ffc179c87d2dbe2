// Writes one reply token by token, and says which may come next: nothing else can be written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reply_automaton.hpp"
#include "vocabulary.hpp"

namespace rudder::steer {

class ReplyWriter {
public:
    /// Both must outlive it. The reply ends within so many tokens, whatever is chosen; `most` must
    /// be at least `least_tokens`.
    ReplyWriter(const Vocabulary& vocabulary, const ReplyAutomaton& automaton, std::uint64_t most);
    /// Tokens that always suffice for some reply: its bytes.
    [[nodiscard]] static std::uint64_t least_tokens(const ReplyAutomaton& automaton) noexcept {
        return automaton.bytes_left(ReplyAutomaton::start);
    }

    /// The reply is whole.
    [[nodiscard]] bool done() const noexcept { return allowed_.empty(); }
    /// Tokens that may come next, ascending; none when it is done.
    [[nodiscard]] std::span<const TokenId> allowed() const noexcept { return allowed_; }
    /// Adds one of those.
    void take(TokenId token);
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    void look();

    const Vocabulary* vocabulary_;
    const ReplyAutomaton* automaton_;
    std::uint64_t left_;  ///< tokens
    ReplyAutomaton::State state_ = ReplyAutomaton::start;
    std::vector<TokenId> allowed_;
    std::string text_;
};

}  // namespace rudder::steer
