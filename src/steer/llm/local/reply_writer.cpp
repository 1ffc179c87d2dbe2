#include "reply_writer.hpp"

#include <algorithm>

#include "rudder/core/check.hpp"

namespace rudder::steer {

ReplyWriter::ReplyWriter(const Vocabulary& vocabulary, const ReplyAutomaton& automaton,
                         std::uint64_t most)
    : vocabulary_(&vocabulary), automaton_(&automaton), left_(most) {
    RUDDER_CHECK(most >= least_tokens(automaton));
    look();
}

/// Walks the tree of tokens and the automaton side by side.
void ReplyWriter::look() {
    allowed_.clear();
    const TokenTree& tree = vocabulary_->tree();
    struct Pair {
        std::uint32_t node;
        ReplyAutomaton::State state;
    };
    std::vector<Pair> open{{0, state_}};
    while (!open.empty()) {
        const auto [at, state] = open.back();
        open.pop_back();
        const TokenTree::Node& node = tree.nodes[at];
        // Single bytes are tokens, so that as many as bytes are left always end it.
        if (node.tokens != node.tokens_end && automaton_->bytes_left(state) < left_) {
            allowed_.insert(allowed_.end(), tree.tokens.begin() + node.tokens,
                            tree.tokens.begin() + node.tokens_end);
        }
        auto next = automaton_->edges(state).begin();
        const auto last = automaton_->edges(state).end();
        for (std::uint32_t child = node.children; child < node.children_end; ++child) {
            const TokenTree::Edge& edge = tree.edges[child];
            while (next != last && next->byte < edge.byte)
                ++next;
            if (next == last) break;
            if (next->byte == edge.byte) open.push_back({edge.node, next->to});
        }
    }
    std::ranges::sort(allowed_);
}

void ReplyWriter::take(TokenId token) {
    RUDDER_CHECK(std::ranges::binary_search(allowed_, token));
    for (const char byte : vocabulary_->bytes(token))
        state_ = automaton_->next(state_, static_cast<std::uint8_t>(byte));
    text_ += vocabulary_->bytes(token);
    --left_;
    look();
}

}  // namespace rudder::steer
