// Logarithm, power of e, sine and cosine from sums and products alone: libraries differ in their
// last bits from machine to machine, these do not. For tables; exact to about 1e-15.
#pragma once

namespace rudder::steer {

struct SineCosine {
    double sine;
    double cosine;
};

/// Of a positive number.
[[nodiscard]] double exact_log(double x) noexcept;
/// Of a number from -700 to 700.
[[nodiscard]] double exact_exp(double x) noexcept;
/// Of a number from 0 to a million.
[[nodiscard]] SineCosine exact_sine(double x) noexcept;

}  // namespace rudder::steer
