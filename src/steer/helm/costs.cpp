#include "costs.hpp"

#include <cmath>
#include <limits>

namespace rudder::steer {

void Spread::add(double x) noexcept {
    const double before = x - mean_;
    mean_ += before / static_cast<double>(++count_);
    squares_ += before * (x - mean_);
}

double Spread::error() const noexcept {
    if (count_ < 2) return std::numeric_limits<double>::infinity();
    const auto n = static_cast<double>(count_);
    return std::sqrt(squares_ / (n - 1) / n);
}

void PairedCosts::add(double cost, double reference) noexcept {
    differences_.add(cost - reference);
    reference_sum_ += reference;
}

double PairedCosts::reference() const noexcept {
    return count() == 0 ? 0 : reference_sum_ / static_cast<double>(count());
}

bool PairedCosts::worse(double share, double sigmas) const noexcept {
    return count() >= 2 && difference() > share * std::abs(reference()) &&
           difference() > sigmas * error();
}

bool PairedCosts::better(double share, double sigmas) const noexcept {
    return count() >= 2 && -difference() > share * std::abs(reference()) &&
           -difference() > sigmas * error();
}

}  // namespace rudder::steer
