// In which order training vertices become seeds.
#pragma once

#include <cstdint>
#include <string_view>

namespace rudder::sample {

/// random: each part's training vertices in shuffled order. clustered: blocks of seeds of one
/// cluster of the part, the blocks shuffled, so that a batch has fewer distinct neighbours.
enum class SeedOrder : std::uint8_t { random, clustered };
[[nodiscard]] std::string_view to_string(SeedOrder order) noexcept;
/// The order of that name; a usage Error that lists the known ones otherwise.
[[nodiscard]] SeedOrder seed_order(std::string_view name);

}  // namespace rudder::sample
