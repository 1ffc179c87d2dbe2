// In which order training vertices become seeds.
#pragma once

#include <cstdint>

namespace rudder::sample {

/// random: each part's training vertices in shuffled order. clustered: blocks of seeds of one
/// cluster of the part, the blocks shuffled, so that a batch has fewer distinct neighbours.
enum class SeedOrder : std::uint8_t { random, clustered };

}  // namespace rudder::sample
