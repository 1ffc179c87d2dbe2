#include "rudder/core/random.hpp"

#include <cmath>
#include <numbers>

namespace rudder {

double Draws::normal() noexcept {
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace rudder
