// Products of the small matrices that classifiers are fitted with.
#pragma once

#include <cstddef>

namespace rudder::steer {

/// c [rows x columns] += a b, where a's element (r, k) is at a[r * a_row + k * a_step] and b has
/// `depth` rows. Sums run in the order of k, so every instruction set gives the same bits.
void add_product(const float* a, std::size_t a_row, std::size_t a_step, const float* b, float* c,
                 std::size_t rows, std::size_t columns, std::size_t depth);

}  // namespace rudder::steer
