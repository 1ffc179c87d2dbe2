// Compiled without contraction of products and sums: see CMakeLists.txt of the layer.
#include "exact_math.hpp"

#include <cmath>

namespace rudder::steer {

namespace {

constexpr double ln2 = 0.69314718055994530942;
// pi / 2 in two pieces; the first has 33 bits, so that its small multiples are exact.
constexpr double half_pi = 1.57079632673412561417;
constexpr double half_pi_rest = 6.07710050650619224932e-11;

}  // namespace

double exact_log(double x) noexcept {
    int power = 0;
    const double part = std::frexp(x, &power);  // from 0.5 to 1
    const double z = (part - 1) / (part + 1);
    double sum = 0;
    for (int n = 41; n >= 1; n -= 2)
        sum = sum * (z * z) + 1.0 / n;
    return 2 * z * sum + power * ln2;
}

double exact_exp(double x) noexcept {
    const double whole = std::floor(x / ln2 + 0.5);
    const double r = x - whole * ln2;
    double sum = 1;
    for (int n = 20; n >= 1; --n)
        sum = 1 + sum * r / n;
    return std::ldexp(sum, static_cast<int>(whole));
}

SineCosine exact_sine(double x) noexcept {
    const double turns = std::floor(x / (half_pi + half_pi_rest) + 0.5);
    const double r = (x - turns * half_pi) - turns * half_pi_rest;
    double sine = 1;
    double cosine = 1;
    for (int n = 20; n >= 2; n -= 2) {
        sine = 1 - sine * (r * r) / (n * (n + 1));
        cosine = 1 - cosine * (r * r) / (n * (n - 1));
    }
    sine *= r;
    switch (static_cast<int>(turns) % 4) {
        case 1:
            return {cosine, -sine};
        case 2:
            return {-sine, -cosine};
        case 3:
            return {-cosine, sine};
        default:
            return {sine, cosine};
    }
}

}  // namespace rudder::steer
