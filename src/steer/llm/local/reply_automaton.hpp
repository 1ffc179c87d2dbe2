// A schema of replies as an automaton over bytes: it takes the compact JSON, keys in the schema's
// order, of every value that the schema allows, and nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/json_fwd.hpp"

namespace rudder::steer {

/// Deterministic and without loops. Knows what our schemas use: const, enum, bounded integers,
/// closed objects with required and optional keys, anyOf, and strings of a class of characters.
class ReplyAutomaton {
public:
    using State = std::uint32_t;
    static constexpr State start = 0;
    static constexpr State none = ~State{0};

    struct Edge {
        std::uint8_t byte;
        State to;
    };

    explicit ReplyAutomaton(const Json& schema);

    /// Bytes that may come next, ascending. From every state an end can be reached.
    [[nodiscard]] std::span<const Edge> edges(State state) const noexcept {
        return std::span(edges_).subspan(first_[state], first_[state + 1] - first_[state]);
    }
    /// Where a byte leads; none: it may not come.
    [[nodiscard]] State next(State state, std::uint8_t byte) const noexcept;
    /// Whether what was taken is a whole reply.
    [[nodiscard]] bool whole(State state) const noexcept { return left_[state] == 0; }
    /// The fewest bytes that make a whole reply of it.
    [[nodiscard]] std::uint32_t bytes_left(State state) const noexcept { return left_[state]; }
    [[nodiscard]] std::size_t states() const noexcept { return left_.size(); }

private:
    std::vector<std::uint32_t> first_;  ///< of a state's edges
    std::vector<Edge> edges_;
    std::vector<std::uint32_t> left_;
};

}  // namespace rudder::steer
