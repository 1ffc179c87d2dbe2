// Makes paths that begin alike one path (the subset construction), and counts the way to the end.
#include "reply_automaton.hpp"

#include <algorithm>
#include <map>

#include "rudder/core/check.hpp"

#include "schema_paths.hpp"

namespace rudder::steer {

namespace {

using NodeSet = std::vector<SchemaPaths::Node>;

/// With all that is reached without a byte, in order, each once.
NodeSet closed(const SchemaPaths& paths, NodeSet nodes) {
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::vector<SchemaPaths::Node> open = nodes;
    while (!open.empty()) {
        const SchemaPaths::Node node = open.back();
        open.pop_back();
        for (const SchemaPaths::Node next : paths.spots()[node].free) {
            const auto at = std::ranges::lower_bound(nodes, next);
            if (at != nodes.end() && *at == next) continue;
            nodes.insert(at, next);
            open.push_back(next);
        }
    }
    return nodes;
}

/// States found so far, by their nodes, with their edges.
struct Subsets {
    std::map<NodeSet, ReplyAutomaton::State> known;
    std::vector<const NodeSet*> sets;
    std::vector<std::vector<ReplyAutomaton::Edge>> edges;

    ReplyAutomaton::State of(NodeSet nodes) {
        const auto [at, fresh] =
            known.try_emplace(std::move(nodes), static_cast<ReplyAutomaton::State>(sets.size()));
        if (fresh) sets.push_back(&at->first);
        return at->second;
    }
};

Subsets subsets_of(const SchemaPaths& paths) {
    Subsets found;
    static_cast<void>(found.of(closed(paths, {0})));
    for (std::size_t state = 0; state < found.sets.size(); ++state) {
        std::map<std::uint8_t, NodeSet> targets;
        for (const SchemaPaths::Node node : *found.sets[state]) {
            for (const SchemaPaths::Step& step : paths.spots()[node].steps)
                targets[step.byte].push_back(step.to);
        }
        std::vector<ReplyAutomaton::Edge> edges;
        for (auto& [byte, nodes] : targets)
            edges.push_back({byte, found.of(closed(paths, std::move(nodes)))});
        found.edges.push_back(std::move(edges));
    }
    return found;
}

/// The fewest bytes from each state to an end; `none` where there is no way.
std::vector<std::uint32_t> ways_out(const Subsets& states, SchemaPaths::Node end) {
    const std::size_t count = states.sets.size();
    std::vector<std::vector<ReplyAutomaton::State>> before(count);
    std::vector<std::uint32_t> left(count, ReplyAutomaton::none);
    std::vector<ReplyAutomaton::State> queue;
    for (ReplyAutomaton::State state = 0; state < count; ++state) {
        for (const auto& edge : states.edges[state])
            before[edge.to].push_back(state);
        if (!std::ranges::binary_search(*states.sets[state], end)) continue;
        left[state] = 0;
        queue.push_back(state);
    }
    for (std::size_t at = 0; at < queue.size(); ++at) {
        for (const ReplyAutomaton::State state : before[queue[at]]) {
            if (left[state] != ReplyAutomaton::none) continue;
            left[state] = left[queue[at]] + 1;
            queue.push_back(state);
        }
    }
    return left;
}

}  // namespace

ReplyAutomaton::ReplyAutomaton(const Json& schema) {
    const SchemaPaths paths(schema);
    const Subsets states = subsets_of(paths);
    left_ = ways_out(states, paths.end());
    RUDDER_CHECK(left_[start] != none);  // some reply is allowed
    for (const auto& edges : states.edges) {
        first_.push_back(static_cast<std::uint32_t>(edges_.size()));
        for (const Edge& edge : edges)
            if (left_[edge.to] != none) edges_.push_back(edge);
    }
    first_.push_back(static_cast<std::uint32_t>(edges_.size()));
}

ReplyAutomaton::State ReplyAutomaton::next(State state, std::uint8_t byte) const noexcept {
    const auto all = edges(state);
    const auto at = std::ranges::lower_bound(all, byte, {}, &Edge::byte);
    return at != all.end() && at->byte == byte ? at->to : none;
}

}  // namespace rudder::steer
