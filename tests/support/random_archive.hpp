// NPZ archives drawn at random, for round trips.
#pragma once

#include <cstdint>
#include <string>

#include "support/random_graph.hpp"

namespace rudder::test {

/// An archive of these edges, with features and targets of kinds chosen by the seed: float32,
/// uint8, int8 with scale or no features (seed % 4); classes, several labels, numbers or no targets
/// (seed / 4 % 4).
[[nodiscard]] std::string random_archive(std::uint64_t seed, const RandomEdges& random);

}  // namespace rudder::test
