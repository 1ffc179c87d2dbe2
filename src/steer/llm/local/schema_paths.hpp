// All texts that a schema allows, as a graph of bytes in which several paths may begin alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/json_fwd.hpp"

namespace rudder::steer {

class SchemaPaths {
public:
    using Node = std::uint32_t;

    struct Step {
        std::uint8_t byte;
        Node to;
    };
    struct Spot {
        std::vector<Step> steps;
        std::vector<Node> free;  ///< reached without a byte
    };

    /// The paths from node 0 to `end()` spell what the schema allows.
    explicit SchemaPaths(const Json& schema);

    [[nodiscard]] const std::vector<Spot>& spots() const noexcept { return spots_; }
    [[nodiscard]] Node end() const noexcept { return end_; }

private:
    Node spot();
    Node text(Node from, std::string_view bytes);
    void join(Node from, Node to);
    /// Each adds what a value may be behind `from`, and gives the node behind it.
    Node value(Node from, const Json& schema);
    Node object(Node from, const Json& schema);
    Node words(Node from, const Json& list);
    Node whole(Node from, std::int64_t least, std::int64_t most);
    Node characters(Node from, const Json& schema);
    /// Numbers from `least` to `most`, both of as many digits.
    void digits(Node from, Node to, const std::string& least, const std::string& most);
    void magnitudes(Node from, Node to, std::uint64_t least, std::uint64_t most);

    std::vector<Spot> spots_;
    Node end_ = 0;
};

}  // namespace rudder::steer
